// ShardContext: what the tablets of one shard share, one field for each service. Owned by
// ShardEngine, whose lifetime it has. Code that needs one of the services takes that one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "engine/files/manifest_client.h"
#include "engine/files/obsolete_blobs.h"
#include "engine/options.h"
#include "engine/read/row_cache.h"
#include "engine/sstable/block_loader.h"
#include "engine/store/blob_store.h"
#include "engine/tablet/memtable_budget.h"
#include "engine/tablet/merge_history.h"
#include "engine/tablet/merge_slot.h"
#include "engine/tablet/session_blob_ids.h"
#include "engine/tablet/shard_log.h"
#include "engine/version/cursor_pin.h"
#include "engine/version/version.h"
#include "engine/write/flow_control.h"
#include "engine/write/range_tokens.h"
#include "engine/write/token_memory.h"
#include "engine/write/write_turns.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

class Tablet;

// Notifications of a tablet to its shard. Calls are synchronous; implementations must only record
// them and must not suspend.
class TabletWatcher {
 public:
  virtual ~TabletWatcher() = default;
  virtual void memtable_full(Tablet& tablet) = 0;
  // The shard's memtables exceed the soft bound.
  virtual void memory_short() = 0;
  virtual void runs_changed(Tablet& tablet) = 0;
  // A table of the tablet has a damaged section (TableReader::note_section_damage).
  virtual void section_damaged(TabletId tablet) = 0;
  // The tablet's durable manifest entry no longer names these logs of earlier sessions.
  virtual void logs_released(std::vector<LogId> logs) = 0;
};

// What tables are written to, opened from, named in and removed by.
struct ShardFiles {
  BlobStore& blobs;
  ManifestClient manifest;
  ObsoleteBlobs obsolete;
  BlockLoader& loader;
  SessionBlobIds ids;
  OpenTables open_tables{};
};

// What cursors hold.
struct ShardReaders {
  size_t open_blocks_bytes = 0;  // target for the open blocks of one scan or merge
  OpenCursors cursors{};
  OldVersions old_versions{};
};

// Reclaiming by all tablets of the shard; the pace of its merges is the MergeSlot's.
struct ReclaimTimes {
  int64_t rests_until_us = 0;  // clock of `timers`: nothing is reclaimed before
  int64_t edit_us = 0;         // spent on removing files without a merge
};

// The SSTables of the shard's tablets, kept as versions are published (Tablet::count_tables()). A
// table of which two tablets have parts counts twice, with the bytes of each part.
struct TableSums {
  uint64_t tables = 0;
  uint64_t bytes = 0;
};

// Counters of EngineStats and ShardFigures.
struct ShardCounters {
  uint64_t commits = 0;
  uint64_t flushes = 0;
  uint64_t compactions = 0;
  uint64_t flushed_bytes = 0;    // written to tables by flushes,
  uint64_t compacted_bytes = 0;  // and by merges
  uint64_t reclaim_turns = 0;
};

struct ShardContext {
  ShardId shard;
  Runtime runtime;
  EngineOptions options;
  ShardFiles files;
  MemtableBudget memory;
  ShardReaders readers;
  ShardLog wal;
  TokenMemory tokens;
  RowCache rows;
  TabletWatcher* watcher = nullptr;
  RangeTokenRoom range_tokens{};
  FlowControl flow{runtime.timers};
  WriteTurns turns{runtime.timers};
  Background background{runtime.clock.machine()};
  MergeSlot merge_slot{runtime};
  ReclaimTimes reclaim{};
  MergeHistory merges{};
  ShardCounters counters{};
  TableSums tables{};
};

}  // namespace cellar::engine
