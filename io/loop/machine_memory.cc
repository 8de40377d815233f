#include "io/loop/machine_memory.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

namespace cellar {

uint64_t machine_memory_bytes(const std::string& limit_file) {
  const long pages = ::sysconf(_SC_PHYS_PAGES);
  const long page_bytes = ::sysconf(_SC_PAGESIZE);
  uint64_t bytes = 0;
  if (pages > 0 && page_bytes > 0) {
    bytes = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page_bytes);
  }
  uint64_t limit = 0;
  if (std::ifstream(limit_file) >> limit) bytes = bytes == 0 ? limit : std::min(bytes, limit);
  return bytes;
}

}  // namespace cellar
