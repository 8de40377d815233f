// Which tables have their index and filters in parts (sstable/index_part.h).
//
// As long as they are a small part of the cache's budget, all indexes and filters are in memory as
// a whole: a read finds its block by one search then, and the filter of a table in one line of the
// processor's cache. What open tables take beyond kWholeShare of the budget is taken from blocks,
// in the end without bound: 4.5 % of what is stored. So what a merge writes has parts, of which
// those are in memory that are asked for, where as a whole it would take open tables beyond that.
// Flushes write whole ones, since these are small and soon merged.
#pragma once

#include <vector>

#include "engine/tablet/shard_context.h"
#include "engine/version/version.h"

namespace cellar::engine {

inline constexpr size_t kWholeShare = 4;  // one in this

// TableWriterOptions::part_bytes of what a merge of `inputs` writes: 0, or the size of a part. What
// its index would take as a whole counts, since one merge may be larger than the cache.
size_t part_bytes_of_merge(const ShardContext& shard, const std::vector<TabletRun>& inputs);

}  // namespace cellar::engine
