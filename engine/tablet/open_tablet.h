// Opening tablets at a start: opens their tables, and computes their manifest entries after the
// logs have been replayed.
#pragma once

#include <memory>
#include <vector>

#include "engine/manifest/tablet_seed.h"
#include "engine/tablet/shard_context.h"
#include "engine/tablet/tablet.h"
#include "engine/wal/replay.h"

namespace cellar::engine {

// What recovery found for one tablet.
struct RecoveredTablet {
  TabletId id;
  uint64_t version = kAbsent;   // of its manifest entry, before the edit
  TabletState state;            // with the spans that it needs after this start
  std::vector<LogId> old_logs;  // logs of earlier sessions that it still names
};

// DATA_LOSS when a table that the manifest names is missing or unreadable.
Async<Result<std::unique_ptr<Tablet>>> open_tablet(ShardContext& shard, TabletSeed seed);

// The same for several tablets, concurrently.
Async<Result<std::vector<std::unique_ptr<Tablet>>>> open_tablets(ShardContext& shard,
                                                                 std::vector<TabletSeed> seeds);

// Opens one table of a tablet, unless the shard has it open already; a large one in slices if
// `work` is not null.
Async<Result<Ref<TabletTable>>> open_table(ShardFiles& files, TableItem item,
                                           Background::Work* work = nullptr);

// The manifest entry that the tablet needs before it serves: the spans that were replayed, ended
// where this start found their end, and the whole of the new log. Spans without records are
// dropped.
RecoveredTablet recovered_state(const Tablet& tablet, const ReplayReport& replay, LogId new_log);

// The same for a read-only start: the present entry.
RecoveredTablet unchanged_state(const Tablet& tablet);

// The logs of earlier sessions that the state names.
std::vector<LogId> old_logs_of(const TabletState& state, LogId current);

}  // namespace cellar::engine
