// The kernel's counters of this process: bytes to and from the disk, processor time, memory.
#pragma once

#include <sys/resource.h>

#include <cstdint>
#include <fstream>
#include <string>

namespace cellar::bench {

struct ProcessCounters {
  uint64_t read_bytes = 0;  // from the block device
  uint64_t written_bytes = 0;
  double processor_s = 0;
  uint64_t peak_resident_bytes = 0;

  static ProcessCounters now() {
    ProcessCounters counters;
    std::ifstream in("/proc/self/io");
    std::string name;
    for (uint64_t value = 0; in >> name >> value;) {
      if (name == "read_bytes:") counters.read_bytes = value;
      if (name == "write_bytes:") counters.written_bytes = value;
    }
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    const auto seconds = [](const timeval& t) {
      return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
    };
    counters.processor_s = seconds(usage.ru_utime) + seconds(usage.ru_stime);
    counters.peak_resident_bytes = static_cast<uint64_t>(usage.ru_maxrss) * 1024;
    return counters;
  }
};

}  // namespace cellar::bench
