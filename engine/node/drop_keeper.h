// DropKeeper: ends dropped tables when they can be restored no more. Lives on shard 0. It sleeps
// until the first of them is due and looks again when tables are dropped or restored; what it does
// not get to, the next start does.
#pragma once

#include <functional>

#include "io/base/result.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"
#include "io/loop/runtime.h"
#include "io/loop/timers.h"

namespace cellar::engine {

class DropKeeper {
 public:
  // Trusted time may lag behind the timers', and must be asked again; but not all the time.
  static constexpr int64_t kMostWaitUs = 600'000'000;
  static constexpr int64_t kLeastWaitUs = 1'000'000;
  // Between two attempts after a failure.
  static constexpr int64_t kRetryUs = 10'000'000;

  // The trusted time at which the next table is due; INT64_MAX: there is none.
  using Due = std::function<int64_t()>;
  // Ends one that is due.
  using EndOne = std::function<Async<Result<void>>()>;

  // `runtime` is shard 0's.
  DropKeeper(const Runtime& runtime, Due due_us, EndOne end_one);

  void serve();
  // The dropped tables are others now.
  void wake() { wake_.notify_all(); }
  Async<void> stop();

 private:
  static void on_timer(void* self) { static_cast<DropKeeper*>(self)->wake_.notify_all(); }
  Async<void> loop();

  Runtime runtime_;
  Due due_us_;
  EndOne end_one_;
  bool stopping_ = false;
  bool failed_ = false;  // the last attempt did: said once
  int64_t not_before_us_ = 0;
  ConditionVariable wake_;
  Timer timer_;
  Gate running_{"drop keeper"};
};

}  // namespace cellar::engine
