// Operator commands: drain, reload, release held time.
#include "engine/node/clock_keeper.h"
#include "net/http/api.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"

namespace cellar::http {

using server::ShardServer;

namespace {

Async<Result<engine::ClockReport>> release(ShardServer& shard, int64_t max_held_us) {
  const engine::ClockReport report = co_await shard.node().clock_report(shard.id());
  if (report.held_us == 0) co_return report;
  if (max_held_us < report.held_us - engine::ClockKeeper::kSlackUs) {
    co_return fail(Errc::failed_precondition,
                   "{} us are held, more than the {} us that are to be released", report.held_us,
                   max_held_us);
  }
  co_return co_await shard.node().release_held_time(shard.id());
}

}  // namespace

// Affects only what proxies see: sessions continue. A signal stops the node.
Async<HttpResponse> handle_drain(HttpNode& node, const HttpRequest& request) {
  const auto body = object_of(request);
  if (!body) co_return json_error(body.error());
  const json::value* drain = body->if_contains("drain");
  if (drain == nullptr || !drain->is_bool()) {
    co_return error_response(400, "INVALID_ARGUMENT", "the body has no 'drain', true or false");
  }
  node.readiness().drain(drain->get_bool());
  co_return json_response({{"state", server::name_of(node.readiness().state())},
                           {"reason", node.readiness().reason()}});
}

Async<HttpResponse> handle_reload(HttpNode& node, const HttpRequest&) {
  if (node.readiness().stopping()) {
    co_return error_response(503, "UNAVAILABLE", node.readiness().reason());
  }
  node.served()->ask_reload();
  co_return json_response({{"asked", true}}, 200);
}

Async<HttpResponse> handle_release_clock(HttpNode& node, const HttpRequest& request) {
  const auto body = object_of(request);
  if (!body) co_return json_error(body.error());
  const json::value* held = body->if_contains("max_held_us");
  if (held == nullptr || !held->is_int64()) {
    co_return error_response(400, "INVALID_ARGUMENT", "the body has no number 'max_held_us'");
  }
  auto there = [&](ShardServer& home) { return release(home, held->get_int64()); };
  const auto report = co_await node.ask_home(std::move(there));
  if (!report) co_return json_error(report.error());
  co_return json_response({{"trusted_us", report->trusted_us}, {"held_us", report->held_us}});
}

}  // namespace cellar::http
