#include "io/base/clock.h"

#include <algorithm>
#include <ctime>

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

TrustedClock::TrustedClock(const Clock& clock, int64_t floor_us)
    : clock_(clock),
      anchor_us_(std::max(clock.wall_us(), floor_us)),
      anchor_boot_us_(clock.boot_us()),
      last_us_(anchor_us_) {}

int64_t TrustedClock::now_us() {
  const int64_t elapsed_us = std::max<int64_t>(0, clock_.boot_us() - anchor_boot_us_);
  const int64_t drift_us =
      elapsed_us / 1'000'000 * kDriftPpm + elapsed_us % 1'000'000 * kDriftPpm / 1'000'000;
  const int64_t bound_us = anchor_us_ + elapsed_us + drift_us;
  last_us_ = std::max(last_us_, std::min(clock_.wall_us(), bound_us));
  return last_us_;
}

void TrustedClock::raise_floor_us(int64_t floor_us) {
  if (floor_us <= last_us_) return;
  last_us_ = floor_us;
  anchor_us_ = floor_us;
  anchor_boot_us_ = clock_.boot_us();
}

int64_t TrustedClock::held_us() {
  const int64_t now = now_us();
  return std::max<int64_t>(0, clock_.wall_us() - now);
}

}  // namespace cellar
