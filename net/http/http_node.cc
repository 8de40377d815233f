#include "net/http/http_node.h"

#include "net/http/routes.h"

namespace cellar::http {
namespace {

struct Found {
  const Route* route = nullptr;
  std::string allowed;  // methods of the path, where none fits
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

// On the shard.
Async<std::shared_ptr<const security::Principals>> read_principals(server::ShardServer& shard) {
  co_return shard.policy().principals;
}

}  // namespace

HttpNode::HttpNode(ShardExecutor executor, Timers& timers, const server::Config& config,
                   server::Readiness& readiness)
    : executor_(executor),
      timers_(timers),
      config_(config),
      readiness_(readiness),
      gatekeeper_(config.options.http.hosts) {}

void HttpNode::serve(server::Server& server) {
  server_ = &server;
  reader_.start();
}

Async<std::shared_ptr<const security::Principals>> HttpNode::principals() {
  server::Server& server = *server_;
  auto look = [&server] { return read_principals(server.on(ShardId{0})); };
  co_return co_await ask(ShardId{0}, std::move(look));
}

Async<HttpResponse> HttpNode::answer(const HttpRequest& request) {
  const Found found = find_route(request);
  if (found.route == nullptr) {
    if (auto foreign = gatekeeper_.refuse_foreign(request)) co_return *std::move(foreign);
    if (found.allowed.empty()) co_return error_response(404, "NOT_FOUND", "there is no such path");
    HttpResponse response = error_response(405, "UNIMPLEMENTED", "not with this method");
    response.headers.emplace_back("Allow", found.allowed);
    co_return response;
  }
  const bool unable = server_ == nullptr || readiness_.stuck_shard();
  if (found.route->needs_node && unable) {
    if (auto foreign = gatekeeper_.refuse_foreign(request)) co_return *std::move(foreign);
    HttpResponse response = error_response(503, "UNAVAILABLE", readiness_.reason());
    response.headers.emplace_back("Retry-After", "1");
    co_return response;
  }
  std::unique_ptr<HttpAuthorizer> authorizer = std::make_unique<LoopbackAuthorizer>();
  if (found.route->access != Access::open) {
    std::shared_ptr<const security::Principals> known = co_await principals();
    if (known) authorizer = std::make_unique<TokenAuthorizer>(std::move(known));
  }
  if (auto refused = gatekeeper_.refuse(request, found.route->access, *authorizer)) {
    co_return *std::move(refused);
  }
  co_return co_await found.route->handler(*this, request);
}

}  // namespace cellar::http
