#include "io/loop/process_memory.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <string_view>

// From mimalloc, if it is linked.
extern "C" [[gnu::weak]] void mi_collect(bool force) noexcept;

namespace cellar {
namespace {

class LinuxProcessMemory final : public ProcessMemory {
 public:
  uint64_t resident_bytes() override {
    const int fd = ::open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
    if (fd < 0) return 0;
    std::array<char, 128> text{};
    const ssize_t count = ::read(fd, text.data(), text.size());
    ::close(fd);
    if (count <= 0) return 0;
    // All pages, then the resident ones.
    std::string_view line(text.data(), static_cast<size_t>(count));
    line.remove_prefix(std::min(line.size(), line.find(' ') + 1));
    uint64_t pages = 0;
    std::from_chars(line.data(), line.data() + line.size(), pages);
    return pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  }
  void collect() override {
    if (mi_collect != nullptr) mi_collect(true);
  }
};

}  // namespace

ProcessMemory& process_memory() {
  static LinuxProcessMemory memory;
  return memory;
}

}  // namespace cellar
