// WheelTimers: a hierarchical timing wheel, the production Timers.
//
// Seven levels of 64 slots; level l counts in units of 64^l ticks. A timer is stored at the level
// of the highest 6-bit digit in which its tick differs from the current one. All timers of a level
// are due before those of a higher one, so one bit scan finds the next slot. Reaching a slot of
// level 0 fires its timers; reaching a higher slot distributes them over the levels below. Arm and
// cancel are O(1), and a timer moves at most six times.
//
// The loop drives the wheel: it calls advance() once per turn and next_due_us() for the time it may
// sleep.
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

  // From now until the next advance(), now_us() reads `clock`: the handler that ends a sleep runs
  // before advance(), and timers it arms must not count from before the sleep.
  void begin_sleep(int64_t (*clock)()) { asleep_ = clock; }
  // Advances time to `now_us` (never back), fires due timers and returns their number.
  size_t advance(int64_t now_us);
  // No timer fires before this value of now_us(); kNever if none is armed. May be early for distant
  // timers.
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
  // Finds the tick at which the next occupied slot begins; false if none is armed.
  bool next_event(uint64_t& tick, unsigned& slot) const;

  mutable int64_t now_us_ = 0;
  mutable int64_t (*asleep_)() = nullptr;
  uint64_t tick_ = 0;  // everything due at or before it has fired
  size_t armed_ = 0;
  std::array<uint64_t, kLevels> occupied_{};
  std::array<Slot, kLevels * kSlots> slots_{};
};

}  // namespace cellar
