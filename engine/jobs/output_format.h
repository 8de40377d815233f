// The compression of a merge's output tables.
//
// Output of a bottommost compaction is long-lived, holds most bytes and is read rarely: there
// Zstandard pays. It saves a fifth to a third of LZ4's bytes, takes three times as long to pack and
// 3 to 4 us more to unpack a block (bench/NOTES.md). Flushes and runs above the bottom never use
// it.
//
// `bottom_compression` automatic selects it if all of this holds:
//   large      the inputs have at least the bytes of kLargeMemtables memtables, because smaller
//              output is soon merged again; and the shard's tables are larger than its nominal
//              block cache (BlockCache::nominal_bytes()), because reads gain nothing from fewer
//              bytes while all is cached.
//   not hot    of a sample of the inputs' blocks, less than 1/kHotDivisor are cached, or would be
//              in the nominal block cache.
//   on time    the tablet has no more runs than allowed: a merge that writers wait for uses the
//              fastest compression, and a later one makes up for it.
// `zstd` selects it for every merge at the bottom, `same` never. All of them apply only if
// `compression` is not none.
#pragma once

#include <vector>

#include "engine/compaction/plan.h"
#include "engine/tablet/shard_context.h"
#include "engine/tablet/tablet.h"
#include "engine/version/version.h"

namespace cellar::engine {

inline constexpr uint64_t kLargeMemtables = 4;
inline constexpr size_t kHotDivisor = 4;
inline constexpr size_t kHeatSampleBlocks = 256;

// The compression of the output of a merge of `inputs` with these facts.
Compression compression_of_merge(Tablet& tablet, const MergeFacts& facts,
                                 const std::vector<TabletRun>& inputs);

// Whether some table of `bottom` is packed otherwise than `bottom_compression` says; false if that
// is automatic.
bool wants_other_compression(Tablet& tablet, const TabletRun& bottom);

// Selects the tables that have their index and filters in parts (sstable/index_parts.h).
//
// While they are a small part of the cache's nominal budget, all indexes and filters are completely
// in memory: a read then finds its block by one search, and a table's filter in one cache line.
// Memory of open tables beyond kWholeShare of the budget is taken from blocks, ultimately without
// bound: 4.5 % of the stored bytes. A merge therefore writes parts, of which only those in use are
// in memory, if a complete index would exceed that share. Flushes write complete ones, because they
// are small and soon merged.

inline constexpr size_t kWholeShare = 4;  // one in this many

// TableWriterOptions::part_bytes for the output of a merge of `inputs`: 0, or the size of a part.
// The size of its complete index counts, because one merge may exceed the cache.
size_t part_bytes_of_merge(const ShardContext& shard, const std::vector<TabletRun>& inputs);

}  // namespace cellar::engine
