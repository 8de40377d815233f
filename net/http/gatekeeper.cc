#include "net/http/gatekeeper.h"

#include <algorithm>

#include "net/http/api.h"
#include "net/server/access/access.h"
#include "net/server/requests/op_table.h"

namespace cellar::http {
namespace {

// "name:port" and "[v6]:port" without the port, in lower case.
std::string host_name(std::string_view host) {
  const size_t bracket = host.rfind(']');
  const size_t colon = host.find(':', bracket == std::string_view::npos ? 0 : bracket);
  std::string name(host.substr(0, colon));
  std::ranges::transform(name, name.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return name;
}

// DNS rebinding always produces a host name, so numeric addresses are safe.
bool is_number(std::string_view name) {
  if (name.starts_with('[')) return name.ends_with(']');
  size_t dots = 0;
  for (const char c : name) {
    if (c == '.') {
      ++dots;
    } else if (c < '0' || c > '9') {
      return false;
    }
  }
  return dots == 3;
}

std::vector<std::string_view> words_of(std::string_view text) {
  std::vector<std::string_view> words;
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (end > 0) words.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return words;
}

}  // namespace

std::string table_of(const HttpRequest& request, TableIn where) {
  switch (where) {
    case TableIn::nowhere:
      return {};
    case TableIn::query_name:
      return request.parameter("name");
    case TableIn::query_table:
      return request.parameter("table");
    case TableIn::body:
      break;
  }
  const Result<json::object> body = object_of(request);
  if (!body) return {};
  return text_member(*body, "table").value_or("");
}

Result<HttpAuthorizer::Who> LoopbackAuthorizer::authorize(const HttpRequest& request,
                                                          const Gate& gate) {
  if (gate.access != Access::operation || request.from_loopback()) return Who();
  return fail(Errc::permission_denied, "this is for the node's own machine alone");
}

Result<HttpAuthorizer::Who> TokenAuthorizer::authorize(const HttpRequest& request,
                                                       const Gate& gate) {
  if (gate.access != Access::operation) return Who();
  constexpr std::string_view kScheme = "Bearer ";
  if (!request.from_loopback()) {
    return fail(Errc::permission_denied,
                "tokens never travel in plain text: ask on the node's own machine");
  }
  if (!request.authorization.starts_with(kScheme)) {
    return fail(Errc::unauthenticated, "this takes a token: Authorization: Bearer TOKEN");
  }
  TRY(security::Identity identity,
      authorizer_.by_token(Bytes(request.authorization).substr(kScheme.size())));
  const std::string table = table_of(request, gate.table);
  TRY_VOID(server::check_access(*identity.principal, *server::find_op(gate.op), table, gate.need));
  return std::move(identity.principal);
}

Gatekeeper::Gatekeeper(std::string_view hosts, std::string_view nodes) {
  for (const std::string_view host : words_of(hosts)) hosts_.push_back(host_name(host));
  for (const std::string_view node : words_of(nodes)) nodes_.emplace_back(node);
}

bool Gatekeeper::is_peer(std::string_view origin) const {
  return !origin.empty() && std::ranges::find(nodes_, origin) != nodes_.end();
}

std::optional<HttpResponse> Gatekeeper::preflight(const HttpRequest& request) const {
  if (request.method != Method::options || !is_peer(request.origin)) return std::nullopt;
  if (!request.host.empty() && !is_ours(request.host)) return std::nullopt;
  HttpResponse response;
  response.headers.emplace_back("Access-Control-Allow-Methods", "GET, POST");
  response.headers.emplace_back("Access-Control-Allow-Headers",
                                "Authorization, Content-Type, X-Cellar-Request");
  response.headers.emplace_back("Access-Control-Max-Age", "600");
  share(request, response);
  return response;
}

void Gatekeeper::share(const HttpRequest& request, HttpResponse& response) const {
  if (nodes_.empty()) return;
  response.headers.emplace_back("Vary", "Origin");
  if (is_peer(request.origin)) {
    response.headers.emplace_back("Access-Control-Allow-Origin", request.origin);
  }
}

bool Gatekeeper::is_ours(std::string_view host) const {
  const std::string name = host_name(host);
  return name == "localhost" || is_number(name) || std::ranges::find(hosts_, name) != hosts_.end();
}

std::optional<HttpResponse> Gatekeeper::refuse_foreign(const HttpRequest& request) const {
  if (!request.host.empty() && !is_ours(request.host)) {
    return error_response(421, "PERMISSION_DENIED",
                          "the Host is no address, not localhost and not in http.hosts");
  }
  const bool same =
      request.origin == "http://" + request.host || request.origin == "https://" + request.host;
  if (!request.origin.empty() && !same && !is_peer(request.origin)) {
    return error_response(403, "PERMISSION_DENIED", "the Origin is another site");
  }
  return std::nullopt;
}

std::optional<HttpResponse> Gatekeeper::refuse(HttpRequest& request, const Gate& gate,
                                               HttpAuthorizer& authorizer) const {
  if (auto foreign = refuse_foreign(request)) return foreign;
  // A page of another site cannot read the reply, but it must not make the node work either. A link
  // to the console is open, and a browser sends "none" for an address typed by hand.
  const std::string& site = request.fetch_site;
  const bool ours = site.empty() || site == "same-origin" || site == "none";
  if (gate.access != Access::open && !ours && !is_peer(request.origin)) {
    return error_response(403, "PERMISSION_DENIED", "the Sec-Fetch-Site is another site");
  }
  if (gate.access == Access::operation && request.method == Method::post) {
    if (!request.marked) {
      return error_response(403, "PERMISSION_DENIED",
                            "a change carries the X-Cellar-Request header");
    }
    if (!request.content_type.starts_with("application/json")) {
      return error_response(415, "INVALID_ARGUMENT", "a change is sent as application/json");
    }
  }
  Result<HttpAuthorizer::Who> who = authorizer.authorize(request, gate);
  if (who) {
    request.principal = std::move(*who);
    return std::nullopt;
  }
  if (who.error().code == Errc::unauthenticated) {
    HttpResponse response = error_response(401, "UNAUTHENTICATED", who.error().message);
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"cellar\"");
    return response;
  }
  return error_response(403, "PERMISSION_DENIED", who.error().message);
}

}  // namespace cellar::http
