// The arithmetic of an open loop: when requests are due.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace cellar::bench {

// Requests due at equal gaps. The time of request k is computed from k, so that rounding does not
// accumulate: after 10^9 requests it is right to a microsecond.
class Schedule {
 public:
  // REQUIRES: per_second > 0.
  Schedule(int64_t start_ns, double per_second)
      : start_ns_(start_ns), gap_ns_(1e9 / per_second), next_ns_(start_ns) {}

  int64_t next_ns() const { return next_ns_; }
  uint64_t taken() const { return taken_; }
  void take() {
    ++taken_;
    next_ns_ = start_ns_ + std::llround(static_cast<double>(taken_) * gap_ns_);
  }

 private:
  int64_t start_ns_;
  double gap_ns_;
  int64_t next_ns_;
  uint64_t taken_ = 0;
};

// The part of a load that one of several threads carries: connections [first, end) of all.
struct ThreadPart {
  uint32_t first = 0;
  uint32_t end = 0;
  uint32_t count() const { return end - first; }
};
constexpr ThreadPart part_of_thread(uint32_t thread, uint32_t threads, uint32_t connections) {
  const auto at = [&](uint32_t t) {
    return static_cast<uint32_t>(uint64_t{connections} * t / threads);
  };
  return {at(thread), at(thread + 1)};
}
// Its schedule. The threads' schedules interleave, and together they have `per_second`.
inline Schedule schedule_of(ThreadPart part, uint32_t connections, int64_t start_ns,
                            double per_second) {
  const double gap_ns = 1e9 / per_second;
  const auto offset_ns = std::llround(gap_ns * part.first / connections);
  return {start_ns + offset_ns, per_second * part.count() / connections};
}

}  // namespace cellar::bench
