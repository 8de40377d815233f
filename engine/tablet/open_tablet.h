// How a tablet comes back at a start: its tables are opened, its logs are replayed into it, and
// what it needs of the logs from now on is written down.
#pragma once

#include <memory>
#include <vector>

#include "engine/manifest/tablet_seed.h"
#include "engine/tablet/shard_context.h"
#include "engine/tablet/tablet.h"
#include "engine/wal/replay.h"

namespace cellar::engine {

// What recovery found out about one tablet.
struct RecoveredTablet {
  TabletId id;
  uint64_t version = kAbsent;   // of its manifest entry, before the edit
  TabletState state;            // with the spans that it needs from now on
  std::vector<LogId> old_logs;  // of earlier sessions that it still names
};

// DATA_LOSS when a table that the manifest names is not there or cannot be read.
Async<Result<std::unique_ptr<Tablet>>> open_tablet(ShardContext& shard, TabletSeed seed);

// All of them, several at a time.
Async<Result<std::vector<std::unique_ptr<Tablet>>>> open_tablets(ShardContext& shard,
                                                                 std::vector<TabletSeed> seeds);

// Opens one table of a tablet, unless the shard has it open already; a large one in slices, if
// there is a `work`.
Async<Result<Ref<TabletTable>>> open_table(ShardContext& shard, TableItem item,
                                           Background::Work* work = nullptr);

// What the tablet's manifest entry must say before it serves: the spans that were replayed, closed
// where this start found their end, and the whole of the new log. Spans that gave nothing go.
RecoveredTablet recovered_state(const Tablet& tablet, const ReplayReport& replay, LogId new_log);

// Likewise of a read-only start: what it says.
RecoveredTablet unchanged_state(const Tablet& tablet);

// The logs of earlier sessions that the state names.
std::vector<LogId> old_logs_of(const TabletState& state, LogId current);

}  // namespace cellar::engine
