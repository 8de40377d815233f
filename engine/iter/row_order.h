// An order of rows that has nothing to do with what is in them: the first n rows of a table in this
// order are an even sample of its rows, and two tables that have rows in common have those of the
// sample in common, too. On disk, in effect: never change.
#pragma once

#include <bit>
#include <cstdint>

namespace cellar::engine {

// It does not choose the places in a Bloom filter, either. `hash`: row_hash() of the row's prefix.
inline uint64_t row_order(uint64_t hash) { return std::byteswap(hash * 0x9e3779b97f4a7c15u); }

}  // namespace cellar::engine
