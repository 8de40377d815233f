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

// What the scrubber of a shard has done since the start (scrub/scrubber.h).
struct ScrubFigures {
  uint64_t read_bytes = 0;
  uint64_t verified_tables = 0;  // read to their end without damage
  uint64_t damaged_blocks = 0;   // found, again in every pass
  uint64_t failed_reads = 0;     // of the device
  // At present.
  uint64_t damaged_tables = 0;  // in use, and damaged or unreadable when last read
  uint64_t reading_bytes = 0;   // verified so far of the table that is being read
};

// Who holds the memory of a shard at present (shard/memory_budget.h), in bytes.
struct MemoryFigures {
  uint64_t share_bytes = 0;     // the shard's part of memory_bytes
  uint64_t lent_bytes = 0;      // of it, for all of the following
  uint64_t memtable_bytes = 0;  // not flushed
  uint64_t pinned_bytes = 0;    // flushed memtables that cursors hold
  uint64_t released_bytes = 0;  // of destroyed memtables, not freed yet or kept for others
  uint64_t cache_bytes = 0;     // blocks, with the gaps between them
  uint64_t metadata_bytes = 0;  // indexes and filters of open tables, contexts to unpack blocks
  uint64_t token_bytes = 0;
  uint64_t withheld_bytes = 0;  // Engine::withhold_memory
  uint64_t free_bytes = 0;      // what is left
  uint64_t row_bytes = 0;       // results of point reads; not of what is lent
};

struct ShardFigures {
  uint64_t cache_hits = 0;
  uint64_t row_hits = 0;            // point reads that the row cache answered,
  uint64_t row_misses = 0;          // and those that it did not
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
  uint64_t left_cells = 0;       // dropped by merges and removals of dead tables,
  uint64_t left_bytes = 0;       // and about their bytes on disk
  uint64_t zstd_bytes = 0;       // of EngineStats::table_bytes: in tables packed by Zstandard
  RunningMerge merge;
  ScrubFigures scrub;
  MemoryFigures memory;
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
