// What an operator may set about the engine. One struct for a node; sizes of memory are divided by
// the shards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/model/mutation.h"

namespace cellar::engine {

enum class IndexParts : uint8_t { automatic, always, never };

struct EngineOptions {
  // Of the data directory (store/format_file.h): what an older one does not know is not written.
  // 1 to the newest.
  uint32_t format = 4;

  // ---- memory: at most this for memtables, caches and table metadata together, over all shards.
  // 64 MiB to 1 TiB.
  size_t memory_bytes = 1u << 30;
  // A memtable that reaches this is flushed. 64 KiB to 1 GiB; a shard's memtables together take at
  // most half of its memory.
  size_t memtable_bytes = 64u << 20;

  // ---- durability
  // `periodic` writes reach the disk within this. 1 ms to 60 s.
  int64_t periodic_interval_us = 100'000;
  // A log segment. 1 MiB to 1 GiB.
  size_t log_segment_bytes = 64u << 20;

  // ---- tables on disk
  // Compaction cuts its output here. 1 MiB to 16 GiB.
  uint64_t table_bytes = 256u << 20;
  // Whether tables have their index and filters in parts that are loaded as they are needed
  // (output_format.h), and how large a part is. 64 B to 1 MiB.
  IndexParts index_parts = IndexParts::automatic;
  size_t index_part_bytes = 8 * 1024;

  // Cells that died by age leave the disk this much later (SEMANTICS 3). 0 to 1 h. A change of a
  // rule and its undo need no margin (alter_table.cc).
  int64_t removal_margin_us = 300'000'000;

  // ---- the trusted clock (SEMANTICS 3)
  // How much of the time that has passed over a boot of the machine is believed at once. 0 to 10
  // years.
  int64_t max_trusted_gap_us = 72 * 3'600'000'000LL;
  // How far ahead of an anchor trusted time may go before the next one is durable, which is also
  // the longest that a start after a quick reboot waits; and how often there is one while the time
  // is asked for (0: only when asked to).
  int64_t clock_permit_us = 2'000'000;
  int64_t clock_renew_us = 800'000;

  // ---- idempotency tokens (token_memory.h)
  // So long after its issue the repetition of a write gets the first answer. 1 s to 24 h.
  int64_t token_window_us = 15 * 60'000'000LL;
  // What the memory of tokens may take over all shards, kTokenBytes each, and at most an eighth of
  // memory_bytes. 64 KiB to 1 TiB.
  size_t token_bytes = 32u << 20;

  // ---- limits (SEMANTICS 2)
  MutationLimits limits;
};

}  // namespace cellar::engine
