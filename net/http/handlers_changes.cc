// Cells for display, and operator commands: drain, reload, release held time.
#include "engine/model/death_cause.h"
#include "engine/node/clock_keeper.h"
#include "net/http/api.h"
#include "net/http/cell_browser.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"

namespace cellar::http {

using server::ShardServer;

namespace {

json::value cell_value(const BrowsedCell& cell) {
  return {
      {"row", shown(cell.row)},
      {"family", cell.family},
      {"qualifier", shown(cell.qualifier)},
      {"timestamp_us", cell.timestamp_us},
      {"timestamp", fmt::format("{}", cell.timestamp_us)},
      {"value", shown(cell.value)},
      {"value_bytes", cell.value_bytes},
      {"label", shown(cell.label)},
      {"dead", cell.note.dead},
      {"dies_at_us", time_value(cell.note.dies_at_us)},
      {"cause", name_of(cell.note.cause)},
      {"clause", cell.note.clause == kNoClause ? json::value() : json::value(cell.note.clause)},
      {"expire_at_us",
       cell.note.expire_at_us == kNoExpiry ? json::value() : json::value(cell.note.expire_at_us)}};
}

Result<BrowseRequest> browse_request(const HttpRequest& request) {
  BrowseRequest wanted;
  wanted.table = request.parameter("table");
  TRY(wanted.prefix, bytes_of(request.parameter("prefix")));
  TRY(wanted.after, bytes_of(request.parameter("after")));
  TRY(wanted.cells, number_parameter(request, "limit", 200, kMaxBrowsedCells));
  wanted.cells = std::max<size_t>(wanted.cells, 1);
  wanted.include_dead = request.parameter("dead") != "0";
  wanted.family = request.parameter("family");
  wanted.qualifier = request.parameter("qualifier");
  wanted.text = request.parameter("value");
  TRY(const uint64_t since_us, number_parameter(request, "since_us", 0, kMaxTimestampUs));
  TRY(const uint64_t until_us,
      number_parameter(request, "until_us", kMaxTimestampUs, kMaxTimestampUs));
  TRY(const uint64_t versions, number_parameter(request, "versions", 0, UINT32_MAX));
  wanted.times = {static_cast<int64_t>(since_us), static_cast<int64_t>(until_us)};
  wanted.versions = static_cast<uint32_t>(versions);
  return wanted;
}

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

Async<HttpResponse> handle_cells(HttpNode& node, const HttpRequest& request) {
  auto wanted = browse_request(request);
  if (!wanted) co_return json_error(wanted.error());
  auto there = [&](ShardServer& home) { return browse(home, std::move(*wanted)); };
  const auto found = co_await node.ask_home(std::move(there));
  if (!found) co_return json_error(found.error());
  json::array cells;
  for (const BrowsedCell& cell : found->cells) cells.push_back(cell_value(cell));
  co_return json_response({{"now_us", found->now_us},
                           {"more", found->more},
                           {"next", shown(found->next)},
                           {"cut", found->cut},
                           {"cells", std::move(cells)}});
}

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
