// WheelTimers: a hierarchical timing wheel, the real body of Timers.
//
// Seven levels of 64 slots; level l counts in units of 64^l ticks. A timer sits in the level of the
// highest 6-bit digit in which its tick differs from the current one, so all timers of a lower
// level are due before any of a higher one, and the next slot that matters is found with one bit
// scan. Reaching a slot of level 0 fires it; reaching a slot above spreads its timers over the
// levels below. Arm and cancel are O(1), and a timer moves at most six times in its life.
//
// The wheel does not tick by itself: the loop tells it the time once a turn (advance) and asks
// until when it may sleep (next_due_us).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <utility>

#include "io/loop/timers.h"

namespace cellar {

class WheelTimers final : public Timers {
 public:
  static constexpr int64_t kNever = INT64_MAX;
  static constexpr int64_t kMaxDelayUs = int64_t{100} * 365 * 86'400 * 1'000'000;  // a century

  WheelTimers() = default;
  ~WheelTimers() override;

  int64_t now_us() const override {
    if (asleep_) now_us_ = std::max(now_us_, std::exchange(asleep_, nullptr)());
    return now_us_;
  }
  void arm(Timer& timer, int64_t deadline_us) override;
  void cancel(Timer& timer) override;

  // The next now_us(), unless an advance() comes first, asks `clock`: the handler that ends a sleep
  // runs before the loop has told the time, and what it arms must not count from before the sleep.
  void begin_sleep(int64_t (*clock)()) { asleep_ = clock; }
  // Time moves on to `now_us` (never back) and what is due fires; the count of timers fired.
  size_t advance(int64_t now_us);
  // No timer fires before this reading of now_us(); kNever when none is armed. May be early for a
  // timer that is far away.
  int64_t next_due_us() const;
  size_t armed() const { return armed_; }

 private:
  static constexpr unsigned kLevels = 7;
  static constexpr unsigned kDigitBits = 6;
  static constexpr unsigned kSlots = 1u << kDigitBits;
  struct Slot {
    Timer* first = nullptr;
    Timer* last = nullptr;
  };

  void insert(Timer& timer);
  void unlink(Timer& timer);
  // The tick at which the next occupied slot begins; false when nothing is armed.
  bool next_event(uint64_t& tick, unsigned& slot) const;

  mutable int64_t now_us_ = 0;
  mutable int64_t (*asleep_)() = nullptr;
  uint64_t tick_ = 0;  // everything due at or before it has fired
  size_t armed_ = 0;
  std::array<uint64_t, kLevels> occupied_{};
  std::array<Slot, kLevels * kSlots> slots_{};
};

}  // namespace cellar
