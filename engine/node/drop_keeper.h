// DropKeeper: permanently removes dropped tables that can no longer be restored. On shard 0. It
// sleeps until the first is due and is woken when tables are dropped or restored; the next start
// continues its work.
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
  // Trusted time may lag behind the timers, so it is read again, at intervals within these bounds.
  static constexpr int64_t kMostWaitUs = 600'000'000;
  static constexpr int64_t kLeastWaitUs = 1'000'000;
  // Pause after a failure.
  static constexpr int64_t kRetryUs = 10'000'000;

  // The trusted time at which the next table is due; INT64_MAX: none.
  using Due = std::function<int64_t()>;
  // Removes a table that is due.
  using EndOne = std::function<Async<Result<void>>()>;

  // `runtime` is shard 0's.
  DropKeeper(const Runtime& runtime, Due due_us, EndOne end_one);

  void serve();
  // The set of dropped tables has changed.
  void wake() { wake_.notify_all(); }
  Async<void> stop();

 private:
  static void on_timer(void* self) { static_cast<DropKeeper*>(self)->wake_.notify_all(); }
  Async<void> loop();

  Runtime runtime_;
  Due due_us_;
  EndOne end_one_;
  bool stopping_ = false;
  bool failed_ = false;  // the last attempt failed, which is logged once
  int64_t not_before_us_ = 0;
  ConditionVariable wake_;
  Timer timer_;
  Gate running_{"drop keeper"};
};

}  // namespace cellar::engine
