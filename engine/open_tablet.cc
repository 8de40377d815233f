#include "engine/open_tablet.h"

#include <utility>

namespace cellar::engine {

Async<Result<Ref<TabletTable>>> open_table(ShardContext& shard, TableMeta meta) {
  auto blob = co_await shard.blobs.open(meta.blob);
  if (!blob) {
    Error error = std::move(blob).error();
    if (error.code == Errc::not_found) error.code = Errc::data_loss;
    co_return std::unexpected(std::move(error));
  }
  auto reader = co_await TableReader::open(std::move(*blob), shard.loader);
  if (!reader) co_return std::unexpected(std::move(reader).error());
  co_return Ref<TabletTable>(new TabletTable(std::move(meta), std::move(*reader), shard.reaper));
}

Async<Result<std::unique_ptr<Tablet>>> open_tablet(ShardContext& shard, TabletSeed seed) {
  std::vector<Ref<TabletTable>> tables;
  for (const TableMeta& meta : seed.tables) {
    auto table = co_await open_table(shard, meta);
    if (!table) {
      Error error = std::move(table).error();
      error.message = fmt::format("tablet {}: {}", seed.id, error.message);
      co_return std::unexpected(std::move(error));
    }
    tables.push_back(std::move(*table));
  }
  co_return std::make_unique<Tablet>(shard, std::move(seed), std::move(tables));
}

RecoveredTablet recovered_state(const Tablet& tablet, const ReplayReport& replay, LogId new_log) {
  RecoveredTablet recovered;
  recovered.id = tablet.id();
  recovered.version = tablet.manifest_version();
  recovered.state = tablet.state();
  std::vector<LogSpan> spans;
  if (tablet.has_replayed()) {
    for (LogSpan span : tablet.state().spans) {
      if (span.to == kLogEnd) span.to = replay.logs.at(span.log).end;
      spans.push_back(span);
    }
  }
  spans.push_back({.log = new_log});
  recovered.state.spans = std::move(spans);
  recovered.old_logs = old_logs_of(recovered.state, new_log);
  return recovered;
}

std::vector<LogId> old_logs_of(const TabletState& state, LogId current) {
  std::vector<LogId> logs;
  for (const LogSpan& span : state.spans) {
    if (span.log != current) logs.push_back(span.log);
  }
  return logs;
}

}  // namespace cellar::engine
