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

}  // namespace

HttpNode::HttpNode(ShardExecutor executor, Timers& timers, const server::ServerOptions& options,
                   server::Readiness& readiness)
    : executor_(executor),
      timers_(timers),
      options_(options),
      readiness_(readiness),
      gatekeeper_(options.http.hosts, authorizer_) {}

Async<HttpResponse> HttpNode::answer(const HttpRequest& request) {
  const Found found = find_route(request);
  if (found.route == nullptr) {
    if (auto foreign = gatekeeper_.refuse_foreign(request)) co_return *std::move(foreign);
    if (found.allowed.empty()) co_return error_response(404, "NOT_FOUND", "there is no such path");
    HttpResponse response = error_response(405, "UNIMPLEMENTED", "not with this method");
    response.headers.emplace_back("Allow", found.allowed);
    co_return response;
  }
  if (auto refused = gatekeeper_.refuse(request, found.route->access)) {
    co_return *std::move(refused);
  }
  if (found.route->needs_node && (server_ == nullptr || readiness_.stuck_shard())) {
    HttpResponse response = error_response(503, "UNAVAILABLE", readiness_.reason());
    response.headers.emplace_back("Retry-After", "1");
    co_return response;
  }
  co_return co_await found.route->handler(*this, request);
}

}  // namespace cellar::http
