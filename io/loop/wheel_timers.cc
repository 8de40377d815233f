#include "io/loop/wheel_timers.h"

#include <algorithm>
#include <bit>

#include "io/base/check.h"

namespace cellar {

WheelTimers::~WheelTimers() {
  CHECK(armed_ == 0, "{} timers are armed while their loop goes", armed_);
}

void WheelTimers::arm(Timer& timer, int64_t deadline_us) {
  if (timer.armed_) unlink(timer);
  timer.armed_ = true;
  timer.deadline_us_ = std::min(deadline_us, now_us_ + kMaxDelayUs);
  insert(timer);
}

void WheelTimers::cancel(Timer& timer) {
  unlink(timer);
  timer.armed_ = false;
}

void WheelTimers::insert(Timer& timer) {
  // Rounds up and skips ticks already processed: a timer may fire late, never early.
  const int64_t rounded = (std::max<int64_t>(timer.deadline_us_, 0) + kTickUs - 1) / kTickUs;
  const uint64_t due = std::max(static_cast<uint64_t>(rounded), tick_ + 1);
  const unsigned differs = static_cast<unsigned>(std::bit_width(due ^ tick_)) - 1;
  const unsigned level = differs / kDigitBits;
  CHECK(level < kLevels, "timer at {} us is out of range", timer.deadline_us_);
  const auto digit = static_cast<unsigned>(due >> (level * kDigitBits)) % kSlots;

  timer.slot_ = level * kSlots + digit;
  Slot& slot = slots_[timer.slot_];
  timer.next_ = nullptr;
  timer.prev_ = slot.last;
  (slot.last ? slot.last->next_ : slot.first) = &timer;
  slot.last = &timer;
  occupied_[level] |= uint64_t{1} << digit;
  ++armed_;
}

void WheelTimers::unlink(Timer& timer) {
  Slot& slot = slots_[timer.slot_];
  (timer.prev_ ? timer.prev_->next_ : slot.first) = timer.next_;
  (timer.next_ ? timer.next_->prev_ : slot.last) = timer.prev_;
  if (!slot.first) occupied_[timer.slot_ / kSlots] &= ~(uint64_t{1} << timer.slot_ % kSlots);
  --armed_;
}

bool WheelTimers::next_event(uint64_t& tick, unsigned& slot) const {
  for (unsigned level = 0; level < kLevels; ++level) {
    if (occupied_[level] == 0) continue;
    const auto digit = static_cast<unsigned>(std::countr_zero(occupied_[level]));
    const unsigned shift = level * kDigitBits;
    // Digits above this one equal those of the current tick; lower digits start at zero.
    const uint64_t above = tick_ >> (shift + kDigitBits) << (shift + kDigitBits);
    tick = above | uint64_t{digit} << shift;
    slot = level * kSlots + digit;
    return true;
  }
  return false;
}

size_t WheelTimers::advance(int64_t now_us) {
  asleep_ = nullptr;
  now_us_ = std::max(now_us_, now_us);
  const auto now_tick = static_cast<uint64_t>(now_us_ / kTickUs);
  size_t fired = 0;
  uint64_t tick = 0;
  unsigned index = 0;
  while (next_event(tick, index) && tick <= now_tick) {
    tick_ = tick;
    Slot& slot = slots_[index];
    // A callback may arm and cancel timers; those it arms go to later slots.
    while (Timer* timer = slot.first) {
      unlink(*timer);
      if (index >= kSlots && timer->deadline_us_ > static_cast<int64_t>(tick) * kTickUs) {
        insert(*timer);
        continue;
      }
      timer->armed_ = false;
      ++fired;
      timer->callback_(timer->context_);
    }
  }
  tick_ = std::max(tick_, now_tick);
  return fired;
}

int64_t WheelTimers::next_due_us() const {
  uint64_t tick = 0;
  unsigned slot = 0;
  return next_event(tick, slot) ? static_cast<int64_t>(tick) * kTickUs : kNever;
}

}  // namespace cellar
