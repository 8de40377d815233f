// The memory of this machine, or of the control group that this process is in, against what a node
// with a budget may take of it.
#pragma once

#include <cstdint>
#include <string>

namespace cellar {

// What a node stays below, whatever its clients do: the budget for memtables, caches and table
// metadata; an eighth of it once more, for copies of writes that are on their way to the log; and
// what does not grow with the budget: the program, its connections, the largest requests.
constexpr uint64_t resident_bound_bytes(uint64_t memory_total_bytes) {
  return memory_total_bytes + memory_total_bytes / 8 + (uint64_t{128} << 20);
}

// The lesser of the machine's memory and of the limit in `limit_file`, which may be absent or say
// "max". 0: neither is known.
uint64_t machine_memory_bytes(const std::string& limit_file = "/sys/fs/cgroup/memory.max");

}  // namespace cellar
