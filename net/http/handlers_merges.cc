// Merges, running and ended, and the load of tablets over time.
#include <algorithm>

#include "net/http/api.h"
#include "net/http/http_node.h"
#include "net/http/routes.h"
#include "net/server/access/access.h"
#include "net/server/requests/op_table.h"

namespace cellar::http {

using engine::MergeRecord;
using server::ShardServer;
using wire::fb::Op;

namespace {

std::string_view reason_name(engine::MergeReason reason) {
  constexpr std::string_view kNames[engine::kMergeReasons] = {"runs",    "dead_table", "dead_runs",
                                                              "removal", "request",    "index"};
  return kNames[static_cast<size_t>(reason)];
}

json::value record_value(const MergeRecord& merge, size_t shard, std::string_view table) {
  return {{"table", merge.table.value()},
          {"table_name", table},
          {"tablet", merge.tablet.value()},
          {"shard", shard},
          {"ended_us", merge.ended_us},
          {"took_us", merge.took_us},
          {"runs", merge.runs},
          {"reason", reason_name(merge.reason)},
          {"tables_in", merge.tables_in},
          {"tables_out", merge.tables_out},
          {"bytes_in", merge.bytes_in},
          {"bytes_out", merge.bytes_out},
          {"left_cells", merge.left_cells},
          {"left_bytes", merge.left_bytes}};
}

json::value running_value(const engine::RunningMerge& merge, size_t shard, std::string_view table) {
  return {{"table", merge.table.value()},       {"table_name", table},
          {"tablet", merge.tablet.value()},     {"shard", shard},
          {"tablet_bytes", merge.input_bytes},  {"tablet_entries", merge.input_entries},
          {"read_entries", merge.read_entries}, {"written_bytes", merge.written_bytes}};
}

std::string_view table_name(const TableReadings& tables, TableId id) {
  const auto table = std::ranges::find(tables.tables, id, &TableReading::id);
  return table == tables.tables.end() ? "" : std::string_view(table->name);
}

// Runs on the shard.
Async<std::vector<MergeRecord>> read_merges(ShardServer& shard) {
  co_return shard.engine().merge_history();
}

}  // namespace

Async<HttpResponse> handle_compactions(HttpNode& node, const HttpRequest&) {
  const std::shared_ptr<const NodeReading> reading = co_await node.reader().node();
  const std::shared_ptr<const TableReadings> tables = co_await node.reader().tables();
  ServedNode& served = *node.served();
  json::array running;
  uint64_t ended = 0;
  std::vector<std::pair<MergeRecord, size_t>> kept;
  for (size_t i = 0; i < reading->shards.size(); ++i) {
    ended += reading->shards[i].engine.compactions;
    const engine::RunningMerge& merge = reading->shards[i].figures.merge;
    if (merge.tablet != TabletId{}) {
      running.push_back(running_value(merge, i, table_name(*tables, merge.table)));
    }
    const ShardId id{static_cast<uint32_t>(i)};
    auto look = [&served, id] { return read_merges(served.on(id)); };
    for (const MergeRecord& one : co_await node.ask(id, std::move(look))) kept.emplace_back(one, i);
  }
  std::ranges::sort(
      kept, [](const auto& a, const auto& b) { return a.first.ended_us > b.first.ended_us; });
  json::array recent;
  for (const auto& [merge, shard] : kept) {
    recent.push_back(record_value(merge, shard, table_name(*tables, merge.table)));
  }
  co_return json_response(
      {{"ended", ended}, {"running", std::move(running)}, {"recent", std::move(recent)}});
}

Async<HttpResponse> handle_heat(HttpNode& node, const HttpRequest& request) {
  const std::shared_ptr<const TableReadings> readings = co_await node.reader().tables();
  std::vector<std::pair<TableId, bool>> shown;
  for (const TableReading& table : readings->tables) {
    shown.emplace_back(table.id, server::is_shown(request.principal.get(),
                                                  server::spec_of(Op::ListTablets), table.name));
  }
  json::array samples;
  for (const HeatSample& sample : node.reader().heat()) {
    json::array tablets;
    for (const TabletHeat& one : sample.tablets) {
      if (std::ranges::find(shown, std::pair(one.table, true)) == shown.end()) continue;
      tablets.push_back({{"id", one.tablet.value()}, {"per_second", one.per_second}});
    }
    samples.push_back(
        {{"at_us", sample.wall_us}, {"span_us", sample.span_us}, {"tablets", std::move(tablets)}});
  }
  co_return json_response({{"interval_us", NodeReader::kMinuteUs},
                           {"most_tablets", NodeReader::kHeatTablets},
                           {"samples", std::move(samples)}});
}

}  // namespace cellar::http
