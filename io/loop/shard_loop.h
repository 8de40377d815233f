// ShardLoop: the real body of Loop, one io_context driven by one thread.
//
// A turn that found nothing to do puts the thread to sleep in epoll until a socket, a post from
// another thread or the next timer. Waking a sleeping core costs tens of microseconds, so where
// work keeps coming at short intervals the loop first looks around for a while (spin_us) without
// sleeping. Whether that pays is judged from the pauses themselves: every short one earns a credit,
// a long one costs all of them, and only a full account spins. So an idle loop sleeps at
// once, and so does one whose peer needs the very core that the spin would burn.
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
  static constexpr int64_t kDefaultSpinUs = 20;
  static constexpr int64_t kMaxSpinUs = 1'000;

  // 0 sleeps at once; more than kMaxSpinUs is a bug.
  explicit ShardLoop(int64_t spin_us = kDefaultSpinUs);
  ~ShardLoop() override;

  Timers& timers() override { return timers_; }

  // Takes turns until stop(). The thread that calls it is the loop's thread from then on.
  void run();
  // Ends run() after the turn that is under way. From any thread; may come before run().
  void stop();
  // One turn; with may_sleep it sleeps when there is nothing to do. For block_on and for tests.
  bool turn(bool may_sleep);

  // Microseconds slept since the loop was made; on the loop's thread.
  int64_t slept_us() const { return slept_us_; }
  uint64_t turns() const { return turns_; }

 private:
  static constexpr int64_t kWakeUs = 50;  // what a sleep and wake-up cost at most on a quiet core
  static constexpr int kAllCredits = 16;

  void sleep();
  // Work has come at `now_us`, after a pause when `paused_`.
  void note_work(int64_t now_us);

  const int64_t spin_us_;
  std::atomic<bool> stopping_{false};
  WheelTimers timers_;
  int64_t last_work_us_ = 0;  // as timers_ count
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

// Runs `loop` on the calling thread until `work` is done. For programs without a pool, and tests.
template <class T>
T block_on(ShardLoop& loop, Async<T> work) {
  std::optional<T> result;
  spawn(loop.executor(), detail::run_into(std::move(work), result));
  while (!result) loop.turn(true);
  return std::move(*result);
}
void block_on(ShardLoop& loop, Async<void> work);

}  // namespace cellar
