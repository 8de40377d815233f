// ShardLoop: the production Loop, one io_context driven by one thread.
//
// After a turn without work the thread sleeps in epoll until a socket, a post from another thread
// or the next timer wakes it. Waking a sleeping core takes tens of microseconds, so the loop first
// spins up to spin_us if work arrives at short intervals. Pauses decide: each short one earns a
// credit, a spin that ends without work costs kSpinCredits, a long pause all of them. The loop thus
// spins while 16 of 17 spins end with work. An idle loop sleeps at once, and one whose peer
// needs the same core spins one time in 17.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <utility>

#include "io/base/check.h"
#include "io/loop/loop.h"
#include "io/loop/wheel_timers.h"

namespace cellar {

class ShardLoop final : public Loop {
 public:
  static constexpr int64_t kDefaultSpinUs = 20;  // of a program that shares its cores
  static constexpr int64_t kShardSpinUs = 100;   // of a thread with a core of its own
  static constexpr int64_t kMaxSpinUs = 1'000;

  // `spin_us` is at most kMaxSpinUs; 0 disables spinning.
  explicit ShardLoop(int64_t spin_us = kDefaultSpinUs);
  ~ShardLoop() override;

  Timers& timers() override { return timers_; }

  // Takes turns until stop(). The calling thread becomes the loop's thread.
  void run();
  // Ends run() after the current turn. Callable from any thread, also before run().
  void stop();
  // One turn; with may_sleep it sleeps if there is no work. For block_on and tests.
  bool turn(bool may_sleep);

  // Microseconds slept since construction. Call on the loop's thread.
  int64_t slept_us() const { return slept_us_; }
  uint64_t turns() const { return turns_; }

 private:
  static constexpr int64_t kWakeUs = 50;  // upper estimate of a sleep and wake-up on a quiet core
  static constexpr int kAllCredits = 32;
  static constexpr int kSpinCredits = 16;  // needed to spin, and lost by a spin in vain

  void sleep();
  // Records work at `now_us`; `paused_` says whether a pause came before.
  void note_work(int64_t now_us);

  const int64_t spin_us_;
  std::atomic<bool> stopping_{false};
  WheelTimers timers_;
  int64_t last_work_us_ = 0;  // in timers_ time
  bool paused_ = false;
  int spin_credits_ = 0;
  int64_t slept_us_ = 0;
  uint64_t turns_ = 0;
};

namespace detail {

template <class T>
Async<void> run_into(Async<T> work, std::optional<T>& result) {
  result.emplace(co_await std::move(work));
}
Async<void> run_into(Async<void> work, bool& done);

}  // namespace detail

// Runs `loop` on the calling thread until `work` is done. For programs without a pool and for
// tests.
template <class T>
T block_on(ShardLoop& loop, Async<T> work) {
  std::optional<T> result;
  spawn(loop.executor(), detail::run_into(std::move(work), result));
  while (!result) loop.turn(true);
  return std::move(*result);
}
void block_on(ShardLoop& loop, Async<void> work);

}  // namespace cellar
