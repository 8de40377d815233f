// An order of rows independent of their contents: the first n rows of a table in this order are an
// even sample, and tables with common rows share those of the sample. Effectively on disk: never
// change.
#pragma once

#include <bit>
#include <cstdint>

namespace cellar::engine {

// Independent of the positions in a Bloom filter. `hash`: row_hash() of the row's prefix.
inline uint64_t row_order(uint64_t hash) { return std::byteswap(hash * 0x9e3779b97f4a7c15u); }

}  // namespace cellar::engine
