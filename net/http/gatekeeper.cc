#include "net/http/gatekeeper.h"

#include <algorithm>

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

// A browser that was tricked by DNS always sends a name, so that numbers are safe.
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

}  // namespace

Result<void> LoopbackAuthorizer::authorize(const HttpRequest& request, Access access) {
  if (access <= Access::metrics || request.from_loopback()) return {};
  return fail(Errc::permission_denied, "this is for the node's own machine alone");
}

Result<void> TokenAuthorizer::authorize(const HttpRequest& request, Access access) {
  if (access <= Access::metrics) return {};
  if (access == Access::figures && request.from_loopback()) return {};
  constexpr std::string_view kScheme = "Bearer ";
  if (!request.from_loopback()) {
    return fail(Errc::permission_denied,
                "tokens never travel in plain text: ask on the node's own machine");
  }
  if (!request.authorization.starts_with(kScheme)) {
    return fail(Errc::unauthenticated, "this takes a token: Authorization: Bearer TOKEN");
  }
  TRY(const security::Identity identity,
      authorizer_.by_token(Bytes(request.authorization).substr(kScheme.size())));
  const security::Role role = access == Access::data ? security::Role::read : security::Role::admin;
  return security::allow_node(*identity.principal, request.path, {.roles = {role}});
}

Gatekeeper::Gatekeeper(std::string_view hosts) {
  while (!hosts.empty()) {
    const size_t end = std::min(hosts.find(' '), hosts.size());
    if (end > 0) hosts_.push_back(host_name(hosts.substr(0, end)));
    hosts.remove_prefix(std::min(end + 1, hosts.size()));
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
  if (!request.origin.empty() && !same) {
    return error_response(403, "PERMISSION_DENIED", "the Origin is another site");
  }
  return std::nullopt;
}

std::optional<HttpResponse> Gatekeeper::refuse(const HttpRequest& request, Access access,
                                               HttpAuthorizer& authorizer) const {
  if (auto foreign = refuse_foreign(request)) return foreign;
  if (access == Access::change && request.method == Method::post) {
    if (!request.marked) {
      return error_response(403, "PERMISSION_DENIED",
                            "a change carries the X-Cellar-Request header");
    }
    if (!request.content_type.starts_with("application/json")) {
      return error_response(415, "INVALID_ARGUMENT", "a change is sent as application/json");
    }
  }
  const Result<void> allowed = authorizer.authorize(request, access);
  if (allowed) return std::nullopt;
  if (allowed.error().code == Errc::unauthenticated) {
    HttpResponse response = error_response(401, "UNAUTHENTICATED", allowed.error().message);
    response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"cellar\"");
    return response;
  }
  return error_response(403, "PERMISSION_DENIED", allowed.error().message);
}

}  // namespace cellar::http
