// The number of data blocks in the tables of a directory, from their meta blocks.
#pragma once

#include <cstdint>
#include <string>

namespace cellar::bench {

struct TableBlocks {
  uint64_t blocks = 0;
  uint64_t bytes = 0;  // stored
};
// Over all finished blobs that are tables. REQUIRES: no concurrent writer. Aborts on a damaged one.
TableBlocks count_table_blocks(const std::string& directory);

}  // namespace cellar::bench
