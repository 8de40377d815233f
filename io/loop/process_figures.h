// ProcessFigures: what the kernel tells about this process.
#pragma once

#include <cstdint>

namespace cellar {

struct ProcessFigures {
  int64_t user_us = 0;  // processor time
  int64_t system_us = 0;
  uint64_t voluntary_switches = 0;
  uint64_t involuntary_switches = 0;
  uint64_t resident_bytes = 0;  // 0: unknown
  uint64_t peak_resident_bytes = 0;
  uint64_t open_descriptors = 0;  // 0: unknown
  uint64_t descriptor_limit = 0;  // soft; 0: unknown
};

// Reads /proc/self; its time grows with the number of open descriptors.
ProcessFigures read_process_figures();

}  // namespace cellar
