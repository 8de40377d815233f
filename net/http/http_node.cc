#include "net/http/http_node.h"

#include "net/http/routes.h"
#include "net/server/access/access.h"
#include "net/server/requests/op_table.h"

namespace cellar::http {
namespace {

struct Found {
  const Route* route = nullptr;
  std::string allowed;  // allowed methods if the path exists but the method does not match
};

Found find_route(const HttpRequest& request) {
  Found found;
  const Method wanted = request.method == Method::head ? Method::get : request.method;
  for (const Route& route : routes()) {
    if (route.path != request.path) continue;
    if (route.method == wanted) {
      found.route = &route;
      return found;
    }
    if (!found.allowed.empty()) found.allowed += ", ";
    found.allowed += route.method == Method::post ? "POST" : "GET, HEAD";
  }
  return found;
}

// The security log entry of a refusal or a change.
security::AuditEvent audit_event(std::string_view what, const HttpRequest& request,
                                 const Gate& gate, int status) {
  security::AuditEvent event;
  event.event = what;
  if (request.principal) event.principal = request.principal->name;
  event.address = request.peer;
  event.operation = server::name_of(gate.op);
  // The body of an unauthenticated request is not parsed.
  const bool known = request.principal != nullptr;
  const std::string table = known ? table_of(request, gate.table) : "";
  if (known) event.object = table.empty() ? "node" : fmt::format("table '{}'", escape_bytes(table));
  event.outcome = status == 200 ? "OK" : fmt::format("HTTP {}", status);
  event.detail = fmt::format("http {}", request.path);
  return event;
}

// Runs on the shard.
Async<bool> record(server::ShardServer& shard, security::AuditEvent event) {
  if (event.event == "denied") {
    ++shard.security().counters().denials;
    shard.security().audit_flood(std::move(event));
  } else {
    shard.security().audit(std::move(event));
  }
  co_return true;
}

// Runs on the shard.
Async<std::shared_ptr<const security::Principals>> read_principals(server::ShardServer& shard) {
  co_return shard.security().policy().principals;
}

}  // namespace

HttpNode::HttpNode(ShardExecutor executor, Timers& timers, const server::Config& config,
                   server::Readiness& readiness)
    : executor_(executor),
      timers_(timers),
      config_(config),
      readiness_(readiness),
      gatekeeper_(config.options.http.hosts, config.options.http.nodes) {}

void HttpNode::serve(ServedNode& served) {
  served_ = &served;
  reader_.start();
}

Async<std::shared_ptr<const security::Principals>> HttpNode::principals() {
  co_return co_await ask_home(&read_principals);
}

Async<HttpResponse> HttpNode::answer(HttpRequest& request) {
  if (auto told = gatekeeper_.preflight(request)) co_return *std::move(told);
  HttpResponse response = co_await answer_known(request);
  gatekeeper_.share(request, response);
  co_return response;
}

Async<HttpResponse> HttpNode::answer_known(HttpRequest& request) {
  const Found found = find_route(request);
  if (found.route == nullptr) {
    if (auto foreign = gatekeeper_.refuse_foreign(request)) co_return *std::move(foreign);
    if (found.allowed.empty()) co_return error_response(404, "NOT_FOUND", "there is no such path");
    HttpResponse response = error_response(405, "UNIMPLEMENTED", "not with this method");
    response.headers.emplace_back("Allow", found.allowed);
    co_return response;
  }
  if (request.open_routes_only && found.route->gate.access != Access::open) {
    if (auto foreign = gatekeeper_.refuse_foreign(request)) co_return *std::move(foreign);
    HttpResponse response = error_response(
        503, "UNAVAILABLE", "every connection of this listener has a request at work");
    response.headers.emplace_back("Retry-After", "1");
    co_return response;
  }
  const bool unable = served_ == nullptr || readiness_.stuck_shard();
  if (found.route->needs_node && unable) {
    if (auto foreign = gatekeeper_.refuse_foreign(request)) co_return *std::move(foreign);
    HttpResponse response = error_response(503, "UNAVAILABLE", readiness_.reason());
    response.headers.emplace_back("Retry-After", "1");
    co_return response;
  }
  co_return co_await answer_route(*found.route, request);
}

Async<HttpResponse> HttpNode::answer_route(const Route& route, HttpRequest& request) {
  std::unique_ptr<HttpAuthorizer> authorizer = std::make_unique<LoopbackAuthorizer>();
  bool asked = false;
  if (route.gate.access == Access::operation) {
    std::shared_ptr<const security::Principals> known = co_await principals();
    asked = known != nullptr;
    if (asked) authorizer = std::make_unique<TokenAuthorizer>(std::move(known));
  }
  if (auto refused = gatekeeper_.refuse(request, route.gate, *authorizer)) {
    if (asked) co_await audit(audit_event("denied", request, route.gate, refused->status));
    co_return *std::move(refused);
  }
  HttpResponse response = co_await route.handler(*this, request);
  const bool changes =
      route.method == Method::post && server::find_op(route.gate.op)->logged != server::Logged::no;
  if (asked && changes) {
    co_await audit(audit_event("change", request, route.gate, response.status));
  }
  co_return response;
}

Async<void> HttpNode::audit(security::AuditEvent event) {
  auto write = [&event](server::ShardServer& home) { return record(home, std::move(event)); };
  (void)co_await ask_home(std::move(write));
}

}  // namespace cellar::http
