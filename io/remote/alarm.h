// Alarm: wakes the waiters of a condition when a time is up, so that a wait has an end. OnlyWaiter:
// that a call is made one at a time.
#pragma once

#include "io/base/check.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"

namespace cellar {

// Lives in the frame of the coroutine that waits.
class Alarm {
 public:
  Alarm(Timers& timers, ConditionVariable& waiters, int64_t after_us)
      : waiters_(waiters), timer_(timers, &Alarm::ring, this) {
    timer_.arm_after_us(after_us);
  }

 private:
  static void ring(void* self) { static_cast<Alarm*>(self)->waiters_.notify_all(); }

  ConditionVariable& waiters_;
  Timer timer_;
};

// Lives in the frame of a call that must not be made while it is outstanding.
class OnlyWaiter {
 public:
  explicit OnlyWaiter(bool& waiting) : waiting_(waiting) {
    CHECK(!waiting_, "a call is made while it is outstanding");
    waiting_ = true;
  }
  ~OnlyWaiter() { waiting_ = false; }
  OnlyWaiter(const OnlyWaiter&) = delete;
  OnlyWaiter& operator=(const OnlyWaiter&) = delete;

 private:
  bool& waiting_;
};

}  // namespace cellar
