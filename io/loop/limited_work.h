// LimitedWork: starts a coroutine and waits for it no longer than a given time. At the limit the
// caller continues and may tell the coroutine to end; the coroutine is not cancelled.
//
//   LimitedWork<Result<void>> work(runtime, kLimitUs, settle());
//   const bool in_time = co_await work.in_time();
//   if (in_time) co_return co_await work.result();
//   give_up();                       // settle() notices and ends
//   (void)co_await work.result();    // before what it uses goes away
#pragma once

#include <cstdint>
#include <optional>
#include <utility>

#include "io/loop/async.h"
#include "io/loop/event.h"
#include "io/loop/runtime.h"

namespace cellar {

// One loop only. Must not be destroyed before result() has resumed.
template <class T>
class LimitedWork {
 public:
  // Starts the work.
  LimitedWork(const Runtime& runtime, int64_t limit_us, Async<T> work)
      : limit_(runtime.timers, &late, this) {
    limit_.arm_after_us(limit_us);
    spawn(runtime.executor, run(*this, std::move(work)));
  }
  LimitedWork(const LimitedWork&) = delete;
  LimitedWork& operator=(const LimitedWork&) = delete;

  // Resumes when the work has ended, with true, or when its time is over, with false.
  Async<bool> in_time() {
    while (!result_ && !late_) co_await moved_.wait();
    co_return result_.has_value();
  }
  // Resumes when the work has ended. Call once.
  Async<T> result() {
    while (!result_) co_await moved_.wait();
    co_return *std::move(result_);
  }

 private:
  static Async<void> run(LimitedWork& self, Async<T> work) {
    self.result_.emplace(co_await std::move(work));
    self.moved_.notify_all();
  }
  static void late(void* context) {
    auto& self = *static_cast<LimitedWork*>(context);
    self.late_ = true;
    self.moved_.notify_all();
  }

  std::optional<T> result_;
  bool late_ = false;
  ConditionVariable moved_;
  Timer limit_;
};

}  // namespace cellar
