// ShardFigures: figures of one shard (Engine::shard_figures()) for operators, in addition to
// EngineStats: block cache, device reads, and the running merge. A value type.
#pragma once

#include <cstdint>

#include "engine/model/types.h"

namespace cellar::engine {

struct RunningMerge {
  TabletId tablet;  // 0: no merge is running
  TableId table;
  uint64_t input_bytes = 0;    // of the tablet, on disk: upper bound of what it reads
  uint64_t read_entries = 0;   // so far
  uint64_t input_entries = 0;  // of the tablet: upper bound of what it reads
  uint64_t written_bytes = 0;  // so far
};

struct ShardFigures {
  uint64_t cache_hits = 0;
  uint64_t cache_packed_hits = 0;   // of the hits, those that were unpacked
  uint64_t cache_packed_bytes = 0;  // of EngineStats::cache_bytes
  uint64_t cache_misses = 0;
  uint64_t cache_evicted = 0;
  uint64_t device_reads = 0;
  uint64_t device_read_bytes = 0;
  uint64_t damaged_blocks = 0;
  uint64_t failed_reads = 0;
  uint64_t flushed_bytes = 0;    // written to tables by flushes,
  uint64_t compacted_bytes = 0;  // and by merges
  uint64_t zstd_bytes = 0;       // of EngineStats::table_bytes: in tables packed by Zstandard
  RunningMerge merge;
};

// Present causes of slowed writes (flow_control.h): pressures, 0 to 1 each.
struct FlowFigures {
  double memtables = 0;
  double log = 0;
  double runs = 0;           // the greatest of all tablets
  uint64_t runs_behind = 0;  // runs above the limit, the most of all tablets
  uint64_t held = 0;         // delayed answers so far
};

}  // namespace cellar::engine
