#include "io/loop/process_figures.h"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "io/loop/process_memory.h"

namespace cellar {
namespace {

int64_t us_of(const timeval& t) { return t.tv_sec * int64_t{1'000'000} + t.tv_usec; }

uint64_t open_descriptors() {
  namespace fs = std::filesystem;
  std::error_code error;
  uint64_t count = 0;
  for (fs::directory_iterator at("/proc/self/fd", error), end; !error && at != end;
       at.increment(error)) {
    ++count;
  }
  return count > 0 ? count - 1 : 0;  // without the one that lists
}

}  // namespace

ProcessFigures read_process_figures() {
  ProcessFigures figures;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  figures.user_us = us_of(usage.ru_utime);
  figures.system_us = us_of(usage.ru_stime);
  figures.voluntary_switches = static_cast<uint64_t>(usage.ru_nvcsw);
  figures.involuntary_switches = static_cast<uint64_t>(usage.ru_nivcsw);
  figures.resident_bytes = process_memory().resident_bytes();
  figures.peak_resident_bytes =
      std::max(static_cast<uint64_t>(usage.ru_maxrss) * 1024, figures.resident_bytes);
  figures.open_descriptors = open_descriptors();
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) figures.descriptor_limit = limit.rlim_cur;
  return figures;
}

}  // namespace cellar
