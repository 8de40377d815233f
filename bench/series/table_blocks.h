// How many data blocks the tables of a directory have, as their own meta blocks say.
#pragma once

#include <cstdint>
#include <string>

namespace cellar::bench {

struct TableBlocks {
  uint64_t blocks = 0;
  uint64_t bytes = 0;  // stored
};
// Of all sealed blobs that are tables. REQUIRES: nobody writes there. Aborts when one is damaged.
TableBlocks count_table_blocks(const std::string& directory);

}  // namespace cellar::bench
