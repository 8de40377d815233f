#include "io/base/clock.h"

#include <sys/timex.h>

#include <ctime>
#include <fstream>

namespace cellar {
namespace {

int64_t read_us(clockid_t id) {
  timespec t{};
  clock_gettime(id, &t);
  return static_cast<int64_t>(t.tv_sec) * 1'000'000 + t.tv_nsec / 1'000;
}

}  // namespace

int64_t SystemClock::wall_us() const { return read_us(CLOCK_REALTIME); }
int64_t SystemClock::boot_us() const { return read_us(CLOCK_BOOTTIME); }

std::string SystemClock::boot_id() const {
  std::ifstream file("/proc/sys/kernel/random/boot_id");
  std::string id;
  file >> id;
  return id;
}

bool SystemClock::synchronised() const {
  timex reading{};  // modes 0: read only
  return adjtimex(&reading) >= 0 && (reading.status & STA_UNSYNC) == 0;
}

}  // namespace cellar
