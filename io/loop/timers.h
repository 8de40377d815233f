// Timers: caller-owned alarms on one loop. In production a timing wheel driven by the loop
// (wheel_timers.h), in simulation virtual time (sim_loop.h). On the wheel, arming and cancelling
// are O(1) and do not allocate.
#pragma once

#include <cstdint>

#include "io/loop/async.h"

namespace cellar {

class Timers;

// An alarm, owned by its waiter. The destructor cancels it.
class Timer {
 public:
  using Callback = void (*)(void* context);
  Timer(Timers& timers, Callback callback, void* context)
      : timers_(timers), callback_(callback), context_(context) {}
  ~Timer() { cancel(); }
  Timer(const Timer&) = delete;
  Timer& operator=(const Timer&) = delete;

  // Fires once, on the loop, at or after now + delay_us (granularity: kTickUs). Re-arming replaces
  // the deadline.
  void arm_after_us(int64_t delay_us);
  void cancel();
  bool armed() const { return armed_; }

 private:
  friend class Timers;
  friend class WheelTimers;
  friend class SimTimers;
  Timers& timers_;
  Callback callback_;
  void* context_;
  bool armed_ = false;
  int64_t deadline_us_ = 0;
  unsigned slot_ = 0;  // maintained by the implementation
  Timer* prev_ = nullptr;
  Timer* next_ = nullptr;
};

class Timers {
 public:
  static constexpr int64_t kTickUs = 1000;
  virtual ~Timers() = default;
  // Monotonic microseconds of this loop; the production clock is read once per turn.
  virtual int64_t now_us() const = 0;
  virtual void arm(Timer& timer, int64_t deadline_us) = 0;
  virtual void cancel(Timer& timer) = 0;
};

inline void Timer::arm_after_us(int64_t delay_us) {
  timers_.arm(*this, timers_.now_us() + delay_us);
}
inline void Timer::cancel() {
  if (armed_) timers_.cancel(*this);
}

// Resumes after at least delay_us.
Async<void> sleep_us(Timers& timers, int64_t delay_us);

}  // namespace cellar
