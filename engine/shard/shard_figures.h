// ShardFigures: what an operator asks about one shard beside EngineStats: its block cache, its
// reads of the device, and the merge that runs now. A value.
#pragma once

#include <cstdint>

#include "engine/engine.h"
#include "engine/model/types.h"

namespace cellar::engine {

struct RunningMerge {
  TabletId tablet;  // 0: none runs
  TableId table;
  uint64_t input_bytes = 0;    // of the tablet, on disk: the most that it may read
  uint64_t read_entries = 0;   // so far
  uint64_t input_entries = 0;  // of the tablet, likewise
  uint64_t written_bytes = 0;  // so far
};

struct ShardFigures {
  uint64_t cache_hits = 0;
  uint64_t cache_packed_hits = 0;   // of the hits, those that had to be unpacked
  uint64_t cache_packed_bytes = 0;  // of EngineStats::cache_bytes
  uint64_t cache_misses = 0;
  uint64_t cache_evicted = 0;
  uint64_t device_reads = 0;
  uint64_t device_read_bytes = 0;
  uint64_t damaged_blocks = 0;
  uint64_t failed_reads = 0;
  uint64_t flushed_bytes = 0;    // written to tables by flushes,
  uint64_t compacted_bytes = 0;  // and by merges
  uint64_t zstd_bytes = 0;       // of EngineStats::table_bytes: of tables that Zstandard has packed
  RunningMerge merge;
};

// What holds answers to writes back now (flow_control.h): pressures, 0 to 1 each.
struct FlowFigures {
  double memtables = 0;
  double log = 0;
  double runs = 0;           // the greatest of a tablet
  uint64_t runs_behind = 0;  // than merging lets stand, the most of a tablet
  uint64_t held = 0;         // answers that had to wait, so far
};

// On the engine's shard.
ShardFigures shard_figures(const Engine& engine);
FlowFigures flow_figures(const Engine& engine);

}  // namespace cellar::engine
