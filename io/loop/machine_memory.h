// The memory of this machine or of the process's control group, and the resident bound of a node
// with a given budget.
#pragma once

#include <cstdint>
#include <string>

namespace cellar {

// Upper bound of a node's resident memory, whatever its clients do: the budget for memtables,
// caches and table metadata; an eighth of it for copies of writes on their way to the log; and a
// fixed part: the program, its connections, the largest requests.
constexpr uint64_t resident_bound_bytes(uint64_t memory_total_bytes) {
  return memory_total_bytes + memory_total_bytes / 8 + (uint64_t{128} << 20);
}

// The smaller of the machine's memory and the limit in `limit_file`, which may be absent or contain
// "max". 0 if both are unknown.
uint64_t machine_memory_bytes(const std::string& limit_file = "/sys/fs/cgroup/memory.max");

}  // namespace cellar
