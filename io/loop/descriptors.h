// Descriptors: how many files and sockets this process may have open, and how the node divides them
// between connections and files, so that connections never take what flushes and merges need.
#pragma once

#include <cstdint>

#include "io/base/result.h"

namespace cellar {

// Raises the soft limit of open files to the hard one; answers what it is then.
uint64_t raise_descriptor_limit();
// About how many are open: the lowest number that is free.
Result<uint64_t> descriptors_in_use();

struct DescriptorPlan {
  uint64_t files = 0;        // kept for files, beyond those that are open
  uint32_t connections = 0;  // that each shard may have, at least 1
};
// Of `limit` descriptors `in_use` are open and a quarter is kept for files; what is left is for the
// connections of `shards` shards, `wanted` each at most.
DescriptorPlan plan_descriptors(uint64_t limit, uint64_t in_use, uint32_t shards, uint32_t wanted);

}  // namespace cellar
