// Which tables have their index and filters in parts (sstable/index_part.h).
//
// As long as they are a small part of the cache's budget, all indexes and filters are in memory as
// a whole: a read finds its block by one search then, and the filter of a table in one line of the
// processor's cache. What open tables take beyond kWholeShare of the budget is taken from blocks,
// in the end without bound: 4.5 % of what is stored. So from there on what a merge writes has
// parts, of which those are in memory that are asked for, until enough tables have been written
// anew: the charge of open tables settles at that share. Flushes write whole ones, since these are
// small and soon merged.
#pragma once

#include "engine/shard_context.h"

namespace cellar::engine {

inline constexpr size_t kWholeShare = 4;  // one in this

// TableWriterOptions::part_bytes of what a merge of the shard writes: 0, or the size of a part.
size_t part_bytes_of_merge(const ShardContext& shard);

}  // namespace cellar::engine
