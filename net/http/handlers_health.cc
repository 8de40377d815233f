// Health endpoints for proxies, service managers and operators.
#include <boost/json.hpp>

#include "net/http/http_node.h"
#include "net/http/routes.h"

namespace cellar::http {

using server::NodeState;

namespace {

HttpResponse state_response(int status, NodeState state, std::string_view reason) {
  HttpResponse response;
  response.status = status;
  response.content_type = "application/json";
  const boost::json::value body = {{"state", name_of(state)}, {"reason", reason}};
  response.body = boost::json::serialize(body) + "\n";
  if (status == 503) response.headers.emplace_back("Retry-After", "1");
  return response;
}

}  // namespace

// Liveness: the loops turn. Independent of readiness, so that a node that replays a long log is not
// killed.
Async<HttpResponse> handle_healthz(HttpNode& node, const HttpRequest&) {
  const auto& readiness = node.readiness();
  if (const auto stuck = readiness.stuck_shard(); stuck && !readiness.stopping()) {
    co_return state_response(503, readiness.state(),
                             fmt::format("the loop of shard {} does not turn", *stuck));
  }
  co_return state_response(200, readiness.state(), readiness.reason());
}

// Readiness. 404 while draining: HAProxy then sends no new work and keeps existing connections
// (http-check disable-on-404), whereas 503 would cut them.
Async<HttpResponse> handle_readyz(HttpNode& node, const HttpRequest&) {
  const NodeState state = node.readiness().state();
  int status = 503;
  if (state == NodeState::ready) status = 200;
  if (state == NodeState::draining) status = 404;
  co_return state_response(status, state, node.readiness().reason());
}

}  // namespace cellar::http
