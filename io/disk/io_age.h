// IoAge: the age of the oldest operation in flight, without a clock reading per operation.
// Operations are counted by generation; every look() closes the current generation and begins the
// next. The precision is the time between two looks, and an age is never overstated.
//
// Invariant: the generations in use lie between the oldest with an operation in flight and now_, in
// ring order. While the ring is full (an operation is older than kGenerations looks) the current
// generation stays open, and later operations count as younger than they are.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace cellar {

// One loop only.
class IoAge {
 public:
  static constexpr size_t kGenerations = 16;

  // Starts an operation; returns its generation, to be passed to end().
  uint8_t begin() {
    ++in_flight_[now_];
    return now_;
  }
  void end(uint8_t generation) { --in_flight_[generation]; }

  // The age of the oldest operation of a closed generation; 0 if there is none.
  int64_t look(int64_t now_us) {
    int64_t age_us = 0;
    const auto next = static_cast<uint8_t>((now_ + 1) % kGenerations);
    for (size_t at = next; at != now_; at = (at + 1) % kGenerations) {
      if (in_flight_[at] == 0) continue;
      age_us = now_us - closed_us_[at];
      break;
    }
    if (in_flight_[next] > 0) return age_us;
    closed_us_[now_] = now_us;
    now_ = next;
    return age_us;
  }

 private:
  uint8_t now_ = 0;
  std::array<uint32_t, kGenerations> in_flight_{};
  std::array<int64_t, kGenerations> closed_us_{};
};

}  // namespace cellar
