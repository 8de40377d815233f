// What a merge packs its tables with.
//
// Where nothing older lies below the output it rests there for long, most of a tablet's bytes are
// there, and few reads ask for them: that is what Zstandard is for. It saves a fifth to a third of
// LZ4's bytes, takes three times as long to pack and 3 to 4 us more to unpack a block
// (bench/README.md). A flush is never packed by it, nor what is above the bottom.
//
// `bottom_compression` automatic chooses it where all of this holds:
//   large      the inputs have kLargeMemtables memtables' bytes at least: what is smaller is soon
//              merged again. And the shard's tables are larger than its block cache: as long as all
//              is cached, fewer bytes are of no use to reads.
//   not hot    of a sample of the inputs' blocks, less than 1/kHotDivisor are cached.
//   on time    no more runs stand in the tablet than merging lets stand: a merge that writers wait
//              for is packed by what is quickest, and a later one makes up for it.
// `zstd` chooses it at the bottom wherever the directory's format allows it, `same` never. All of
// them only where `compression` is not none.
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

// Of the tables that a merge of `inputs` writes, whose facts are `facts`.
Compression compression_of_merge(Tablet& tablet, const MergeFacts& facts,
                                 const std::vector<TabletRun>& inputs);

// An operator wants the bottom to be packed otherwise than some table of `bottom` is.
bool wants_other_compression(Tablet& tablet, const TabletRun& bottom);

// Which tables have their index and filters in parts (sstable/index_part.h).
//
// As long as they are a small part of the cache's budget, all indexes and filters are in memory as
// a whole: a read finds its block by one search then, and the filter of a table in one line of the
// processor's cache. What open tables take beyond kWholeShare of the budget is taken from blocks,
// in the end without bound: 4.5 % of what is stored. So what a merge writes has parts, of which
// those are in memory that are asked for, where as a whole it would take open tables beyond that.
// Flushes write whole ones, since these are small and soon merged.

inline constexpr size_t kWholeShare = 4;  // one in this

// TableWriterOptions::part_bytes of what a merge of `inputs` writes: 0, or the size of a part. What
// its index would take as a whole counts, since one merge may be larger than the cache.
size_t part_bytes_of_merge(const ShardContext& shard, const std::vector<TabletRun>& inputs);

}  // namespace cellar::engine
