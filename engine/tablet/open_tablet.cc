#include "engine/tablet/open_tablet.h"

#include <algorithm>
#include <utility>

#include "engine/store/blob/blob_files.h"
#include "io/base/log.h"
#include "io/loop/waiter.h"

namespace cellar::engine {

Async<Result<Ref<TabletTable>>> open_table(ShardFiles& files, TableItem item,
                                           Background::Work* work) {
  Ref<OpenTable> table = files.open_tables.find(item.meta.blob);
  if (!table) {
    auto blob = co_await files.blobs.open(item.meta.blob);
    if (!blob) {
      Error error = std::move(blob).error();
      if (error.code == Errc::not_found) error.code = Errc::data_loss;
      co_return std::unexpected(std::move(error));
    }
    auto reader = co_await TableReader::open(std::move(*blob), files.loader, work);
    if (!reader) co_return std::unexpected(std::move(reader).error());
    table = files.open_tables.add(std::move(*reader));
  }
  co_return Ref<TabletTable>(new TabletTable(std::move(item), std::move(table), files.obsolete));
}

namespace {

// A damaged table does not prevent the node from serving the others: it is quarantined with all its
// rows, like a table with a damaged block.
Async<Result<Ref<TabletTable>>> open_in_quarantine(ShardContext& shard, TableItem item,
                                                   Error damage) {
  auto blob = co_await shard.files.blobs.open(item.meta.blob);
  if (!blob) co_return std::unexpected(std::move(damage));
  damage.message = fmt::format("{}: {}", blob_path(item.meta.blob), damage.message);
  log_error("shard", "shard={} table in quarantine, its rows are not served: {}", shard.shard,
            damage.message);
  Ref<OpenTable> table = shard.files.open_tables.add(
      TableReader::lost(std::move(*blob), shard.files.loader, item.meta, std::move(damage)));
  co_return Ref<TabletTable>(
      new TabletTable(std::move(item), std::move(table), shard.files.obsolete));
}

}  // namespace

Async<Result<std::unique_ptr<Tablet>>> open_tablet(ShardContext& shard, TabletSeed seed) {
  std::vector<Ref<TabletTable>> tables;
  for (const TableItem& item : seed.tables) {
    auto table = co_await open_table(shard.files, item);
    if (!table && table.error().code == Errc::data_loss) {
      table = co_await open_in_quarantine(shard, item, table.error());
    }
    if (!table) {
      Error error = std::move(table).error();
      error.message = fmt::format("tablet {}: {}", seed.id, error.message);
      co_return std::unexpected(std::move(error));
    }
    tables.push_back(std::move(*table));
  }
  co_return std::make_unique<Tablet>(shard, std::move(seed), std::move(tables));
}

namespace {

// Number of tables opened concurrently: enough to keep the device busy.
constexpr size_t kOpensAtOnce = 32;

// Opens the tables of many tablets concurrently, before the tablets request them.
struct Opening {
  ShardContext& shard;
  std::vector<const TableItem*> items{};
  size_t next = 0;
  std::vector<Ref<TabletTable>> opened{};
  bool failed = false;
  size_t working = 0;
  Waiter done{};
};

Async<void> open_next(Opening& opening) {
  while (opening.next < opening.items.size() && !opening.failed) {
    const TableItem item = *opening.items[opening.next++];
    auto table = co_await open_table(opening.shard.files, item);
    if (table) {
      opening.opened.push_back(std::move(*table));
    } else {
      opening.failed = true;  // its tablet meets the error again and names the tablet in it
    }
  }
  if (--opening.working == 0) opening.done.resume();
}

Async<void> open_side_by_side(Opening& opening) {
  opening.working = std::min(kOpensAtOnce, opening.items.size());
  if (opening.working == 0) co_return;
  for (size_t i = opening.working; i > 0; --i) {
    spawn(opening.shard.runtime.executor, open_next(opening));
  }
  co_await opening.done.wait();
}

}  // namespace

Async<Result<std::vector<std::unique_ptr<Tablet>>>> open_tablets(ShardContext& shard,
                                                                 std::vector<TabletSeed> seeds) {
  Opening opening{.shard = shard};
  for (const TabletSeed& seed : seeds) {
    for (const TableItem& item : seed.tables) opening.items.push_back(&item);
  }
  co_await open_side_by_side(opening);
  std::vector<std::unique_ptr<Tablet>> opened;
  for (TabletSeed& seed : seeds) {
    CO_TRY(std::unique_ptr<Tablet> tablet, co_await open_tablet(shard, std::move(seed)));
    opened.push_back(std::move(tablet));
  }
  co_return opened;
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

RecoveredTablet unchanged_state(const Tablet& tablet) {
  RecoveredTablet recovered;
  recovered.id = tablet.id();
  recovered.version = tablet.manifest_version();
  recovered.state = tablet.state();
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
