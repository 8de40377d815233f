// EngineOptions: the engine's settings. One struct per node; sizes of memory are divided among the
// shards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/model/mutation.h"

namespace cellar::engine {

enum class IndexParts : uint8_t { automatic, always, never };

struct EngineOptions {
  // ---- memory
  // Bound of memtables, caches and table metadata together, over all shards. 64 MiB to 1 TiB.
  size_t memory_bytes = 1u << 30;
  // A memtable of this size is flushed. 64 KiB to 1 GiB; a shard's memtables together take at most
  // half of its memory.
  size_t memtable_bytes = 64u << 20;

  // Of memory_bytes, for results of point reads of hot rows (read/row_cache.h). 0 to 25; 0: none.
  uint32_t row_cache_percent = 4;

  // ---- durability
  // Longest time until a `periodic` write is on disk. 1 ms to 60 s.
  int64_t periodic_interval_us = 100'000;
  // Size of a log segment. 1 MiB to 1 GiB.
  size_t log_segment_bytes = 64u << 20;

  // ---- tables on disk
  // Size at which compaction ends an output table. 1 MiB to 16 GiB.
  uint64_t table_bytes = 256u << 20;
  // Of a tablet's range deletes, which one block of a table has to hold; more are refused. 1 KiB to
  // 64 MiB.
  uint64_t most_range_delete_bytes = 64u << 20;
  // Whether the index and filters of a table are partitioned and loaded on demand
  // (output_format.h), and the size of a partition. 64 B to 1 MiB.
  IndexParts index_parts = IndexParts::automatic;
  size_t index_part_bytes = 8 * 1024;

  // Delay between a cell's death by age and its removal from disk (SEMANTICS 3). 0 to 1 h. A rule
  // change and its undo need no margin (alter_table.h).
  int64_t removal_margin_us = 300'000'000;

  // Every table on disk is read and verified within this time (scrub/scrubber.h). 1 min to 1 year;
  // 0: never.
  int64_t scrub_every_us = 7 * 24 * 3'600'000'000LL;

  // ---- the trusted clock (SEMANTICS 3)
  // Longest time that is accepted without confirmation to have passed over a boot of the machine. 0
  // to 10 years.
  int64_t max_trusted_gap_us = 72 * 3'600'000'000LL;
  // clock_permit_us: how far trusted time may be ahead of an anchor before the next one is durable;
  // also the longest wait of a start after a quick reboot. clock_renew_us: the interval of anchors
  // while the time is in use (0: on request only).
  int64_t clock_permit_us = 2'000'000;
  int64_t clock_renew_us = 800'000;

  // ---- idempotency tokens (token_memory.h)
  // A write that is repeated within this time after its token's issue gets the first answer. 1 s to
  // 24 h.
  int64_t token_window_us = 15 * 60'000'000LL;
  // Bound of the tokens held in memory over all shards, kTokenBytes each; at most an eighth of
  // memory_bytes. 64 KiB to 1 TiB.
  size_t token_bytes = 32u << 20;

  // ---- limits (SEMANTICS 2)
  MutationLimits limits;
};

}  // namespace cellar::engine
