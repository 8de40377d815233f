// Figures of the API: node, shards, tablets, merges, slow requests, history, settings.
#include <malloc.h>

#include <algorithm>

#include "io/loop/process_figures.h"
#include "net/http/api.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"
#include "net/server/config/settings.h"

// From mimalloc, if it is linked.
extern "C" __attribute__((weak)) void mi_process_info(size_t* elapsed_ms, size_t* user_ms,
                                                      size_t* system_ms, size_t* current_rss,
                                                      size_t* peak_rss, size_t* current_commit,
                                                      size_t* peak_commit, size_t* page_faults);

namespace cellar::http {

using server::SlowRequest;

namespace {

json::value clock_value(const engine::ClockReport& clock) {
  return {{"trusted_us", clock.trusted_us}, {"wall_us", clock.wall_us},
          {"held_us", clock.held_us},       {"synchronised", clock.synchronised},
          {"steady_us", clock.steady_us},   {"release_after_us", clock.release_after_us},
          {"lag_us", clock.lag_us},         {"stands", clock.stands}};
}

json::value merge_value(const engine::RunningMerge& merge) {
  if (merge.tablet == TabletId{}) return nullptr;
  return {{"tablet", merge.tablet.value()},     {"table", merge.table.value()},
          {"tablet_bytes", merge.input_bytes},  {"tablet_entries", merge.input_entries},
          {"read_entries", merge.read_entries}, {"written_bytes", merge.written_bytes}};
}

json::value shard_value(size_t number, const ShardReading& shard) {
  uint64_t answered = 0;
  for (const auto& op : shard.requests.ops) {
    for (const uint64_t n : op.answers) answered += n;
  }
  return {{"shard", number},
          {"idle_us", shard.loop.slept_us},
          {"turns", shard.loop.turns},
          {"stalls", shard.loop.stalls},
          {"longest_stall_us", shard.loop.longest_stall_us},
          {"sessions", shard.connections},
          {"requests", shard.counters.requests},
          {"in_flight", shard.counters.requests - std::min(shard.counters.requests, answered)},
          {"handed_over", shard.counters.handed_over},
          {"scans", shard.scans},
          {"queued_slices", shard.later_length},
          {"tablets", shard.engine.tablets},
          {"sstables", shard.engine.tables_on_disk},
          {"sstable_bytes", shard.engine.table_bytes},
          {"zstd_bytes", shard.figures.zstd_bytes},
          {"memtable_bytes", shard.engine.memtable_bytes},
          {"cache_bytes", shard.engine.cache_bytes},
          {"metadata_bytes", shard.engine.metadata_bytes},
          {"released_bytes", shard.figures.memory.released_bytes},
          {"token_bytes", shard.figures.memory.token_bytes},
          {"free_bytes", shard.figures.memory.free_bytes},
          {"withheld_bytes", shard.figures.memory.withheld_bytes},
          {"row_bytes", shard.figures.memory.row_bytes},
          {"row_hits", shard.figures.row_hits},
          {"row_misses", shard.figures.row_misses},
          {"log_bytes", shard.engine.log_bytes},
          {"cache_hits", shard.figures.cache_hits},
          {"cache_packed_hits", shard.figures.cache_packed_hits},
          {"cache_packed_bytes", shard.figures.cache_packed_bytes},
          {"cache_misses", shard.figures.cache_misses},
          {"commits", shard.engine.commits},
          {"flushes", shard.engine.flushes},
          {"compactions", shard.engine.compactions},
          {"read_only", shard.engine.read_only},
          {"merge", merge_value(shard.figures.merge)}};
}

json::value slow_value(const SlowRequest& slow, size_t shard, std::string_view table) {
  return {{"at_us", slow.at_us},
          {"shard", shard},
          {"op", op_name(slow.op)},
          {"code", code_name(slow.code)},
          {"table", table},
          {"queued_us", slow.queued_us},
          {"engine_us", slow.engine_us},
          {"reply_us", slow.reply_us},
          {"total_us", slow.total_us()},
          {"client", slow.client},
          {"peer", slow.peer}};
}

struct ShardSlow {
  std::vector<SlowRequest> requests;
  std::vector<std::string> tables;
};

Async<ShardSlow> read_slow(server::ShardServer& shard) {
  ShardSlow all;
  for (const SlowRequest& slow : shard.meter().slow().kept()) {
    const engine::TableEntry* table = shard.tables().find(TableId{slow.table_id});
    all.requests.push_back(slow);
    all.tables.push_back(table == nullptr ? "" : table->schema.name);
  }
  co_return all;
}

json::value latency_value(const LatencyReading& latency) {
  return {{"per_second", latency.per_second},
          {"p50_us", latency.p50_us},
          {"p95_us", latency.p95_us},
          {"p99_us", latency.p99_us}};
}

// Null: not known.
json::value known_bytes(uint64_t bytes) {
  return bytes == server::DiskRoom::kUnknown ? json::value() : json::value(bytes);
}

// Null: no TLS.
json::value certificate_value(const NodeReading& reading) {
  const int64_t us = reading.certificate_expires_us;
  return us == 0 ? json::value() : json::value(us);
}

}  // namespace

Async<HttpResponse> handle_node(HttpNode& node, const HttpRequest&) {
  const std::shared_ptr<const NodeReading> reading = co_await node.reader().node();
  ServedNode& served = *node.served();
  const server::ServerOptions& options = node.options();
  const engine::RecoveryReport& found = served.on(ShardId{0}).node().recovery();
  co_return json_response({{"version", served.facts().version},
                           {"state", server::name_of(node.readiness().state())},
                           {"reason", node.readiness().reason()},
                           {"drained_by_operator", node.readiness().drained_by_operator()},
                           {"address", served.address()},
                           {"nodes", options.http.nodes},
                           {"data_dir", options.data_dir},
                           {"io_backend", served.facts().io_backend},
                           {"io_reason", served.facts().io_reason},
                           {"shards", served.shards()},
                           {"memory_bytes", options.engine.memory_bytes},
                           {"disk_free_bytes", known_bytes(reading->disk_free_bytes)},
                           {"disk_reserve_bytes", reading->disk_reserve_bytes},
                           {"certificate_expires_us", certificate_value(*reading)},
                           {"uptime_us", reading->uptime_us},
                           {"now_us", reading->wall_us},
                           {"recovery",
                            {{"replayed_commits", found.replayed_commits},
                             {"replayed_bytes", found.replayed_bytes},
                             {"torn_tail_bytes", found.torn_tail_bytes},
                             {"orphans_removed", found.orphans_removed},
                             {"elapsed_us", found.elapsed_us}}},
                           {"clock", clock_value(reading->clock)}});
}

Async<HttpResponse> handle_shards(HttpNode& node, const HttpRequest&) {
  const std::shared_ptr<const NodeReading> reading = co_await node.reader().node();
  json::array shards;
  for (size_t i = 0; i < reading->shards.size(); ++i) {
    shards.push_back(shard_value(i, reading->shards[i]));
  }
  co_return json_response({{"at_us", reading->at_us}, {"shards", std::move(shards)}});
}

Async<HttpResponse> handle_clock(HttpNode& node, const HttpRequest&) {
  const std::shared_ptr<const NodeReading> reading = co_await node.reader().node();
  co_return json_response(clock_value(reading->clock));
}

Async<HttpResponse> handle_slow_requests(HttpNode& node, const HttpRequest&) {
  ServedNode& served = *node.served();
  json::array all;
  for (uint32_t i = 0; i < served.shards(); ++i) {
    auto look = [&served, i] { return read_slow(served.on(ShardId{i})); };
    const ShardSlow slow = co_await node.ask(ShardId{i}, std::move(look));
    for (size_t k = 0; k < slow.requests.size(); ++k) {
      all.push_back(slow_value(slow.requests[k], i, slow.tables[k]));
    }
  }
  std::ranges::sort(all, [](const json::value& a, const json::value& b) {
    return a.at("at_us").as_int64() > b.at("at_us").as_int64();
  });
  co_return json_response({{"slow_request_us", node.options().net.slow_request_us},
                           {"kept_by_shard", server::SlowRequests::kKept},
                           {"requests", std::move(all)}});
}

Async<HttpResponse> handle_history(HttpNode& node, const HttpRequest& request) {
  const std::string range = request.parameter("range");
  if (!range.empty() && range != "quarter" && range != "day") {
    co_return error_response(400, "INVALID_ARGUMENT", "range is none of quarter, day");
  }
  const bool day = range == "day";
  json::array points;
  for (const HistoryPoint& point : day ? node.reader().minutes() : node.reader().history()) {
    json::array busy;
    for (const double share : point.busy) busy.push_back(share);
    json::object one = {{"at_us", point.wall_us},
                        {"span_us", point.span_us},
                        {"reads", latency_value(point.reads)},
                        {"writes", latency_value(point.writes)},
                        {"errors", point.errors},
                        {"cache_hits", point.cache_hits},
                        {"cache_misses", point.cache_misses},
                        {"memory_bytes", point.memory_bytes},
                        {"disk_free_bytes", point.disk_free_bytes},
                        {"flushed_bytes", point.flushed_bytes},
                        {"compacted_bytes", point.compacted_bytes},
                        {"left_cells", point.left_cells},
                        {"left_bytes", point.left_bytes},
                        {"busy", std::move(busy)}};
    if (day) {
      one["live_bytes"] = point.live_bytes;
      one["dead_bytes"] = point.dead_bytes;
      one["overdue_bytes"] = point.overdue_bytes;
    }
    points.push_back(std::move(one));
  }
  co_return json_response({{"interval_us", day ? NodeReader::kMinuteUs : NodeReader::kHistoryUs},
                           {"points", std::move(points)}});
}

Async<HttpResponse> handle_config(HttpNode& node, const HttpRequest&) {
  json::array all;
  for (const server::Setting& setting : server::settings()) {
    const auto origin = node.config().origins.find(setting.name);
    all.push_back(
        {{"name", setting.name},
         {"value", server::value_of(setting, node.options())},
         {"origin", origin == node.config().origins.end() ? "default" : origin->second},
         {"default", server::default_of(setting)},
         {"help", setting.help},
         {"change", setting.change == server::Setting::Change::reload ? "reload" : "restart"}});
  }
  co_return json_response({{"settings", std::move(all)}});
}

Async<HttpResponse> handle_profile(HttpNode& node, const HttpRequest&) {
  const std::shared_ptr<const NodeReading> reading = co_await node.reader().node();
  const ProcessFigures process = read_process_figures();
  json::object heap = {{"allocator", mi_process_info != nullptr ? "mimalloc" : "libc"},
                       {"resident_bytes", process.resident_bytes},
                       {"peak_resident_bytes", process.peak_resident_bytes}};
  if (mi_process_info != nullptr) {
    size_t unused = 0;
    size_t commit = 0;
    size_t peak_commit = 0;
    mi_process_info(&unused, &unused, &unused, &unused, &unused, &commit, &peak_commit, &unused);
    heap["committed_bytes"] = commit;
    heap["peak_committed_bytes"] = peak_commit;
  } else {
    const struct mallinfo2 info = mallinfo2();
    heap["committed_bytes"] = info.arena + info.hblkhd;
    heap["peak_committed_bytes"] = info.arena + info.hblkhd;
  }
  json::array stalls;
  for (size_t i = 0; i < reading->shards.size(); ++i) {
    stalls.push_back({{"shard", i},
                      {"stalls", reading->shards[i].loop.stalls},
                      {"longest_us", reading->shards[i].loop.longest_stall_us}});
  }
  co_return json_response({{"heap", std::move(heap)},
                           {"cpu",
                            {{"user_us", process.user_us},
                             {"system_us", process.system_us},
                             {"voluntary_switches", process.voluntary_switches},
                             {"involuntary_switches", process.involuntary_switches}}},
                           {"stalls", std::move(stalls)}});
}

}  // namespace cellar::http
