// ProcessMemory: the memory of this process as the operating system sees it.
#pragma once

#include <cstdint>

namespace cellar {

class ProcessMemory {
 public:
  virtual ~ProcessMemory() = default;
  // 0: unknown. Takes some microseconds.
  virtual uint64_t resident_bytes() = 0;
  // Returns memory to the operating system that this thread has freed and the allocator keeps.
  // Takes some milliseconds for 100 MiB.
  virtual void collect() = 0;
};

// Thread-safe.
ProcessMemory& process_memory();

}  // namespace cellar
