// Descriptors: the process limit of open files and sockets, and its division between connections
// and files, so that connections never take the descriptors that flushes and merges need.
#pragma once

#include <cstdint>

#include "io/base/result.h"

namespace cellar {

// Raises the soft limit of open files to the hard limit; returns the limit then in force.
uint64_t raise_descriptor_limit();
// Approximate count of open descriptors: the lowest free number.
Result<uint64_t> descriptors_in_use();

struct DescriptorPlan {
  uint64_t files = 0;        // reserved for files, beyond those open now
  uint32_t connections = 0;  // per shard, at least 1
};
// Of `limit` descriptors `in_use` are open and a quarter is reserved for files. The rest is divided
// among the connections of `shards` shards, at most `wanted` each.
DescriptorPlan plan_descriptors(uint64_t limit, uint64_t in_use, uint32_t shards, uint32_t wanted);

}  // namespace cellar
