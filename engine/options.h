// What an operator may set about the engine. One struct for a node; sizes of memory are divided by
// the shards.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/model/mutation.h"

namespace cellar::engine {

struct EngineOptions {
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

  // ---- limits (SEMANTICS 2)
  MutationLimits limits;
};

}  // namespace cellar::engine
