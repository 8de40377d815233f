#include "io/loop/shard_loop.h"

#include <algorithm>
#include <chrono>

#include <boost/asio/post.hpp>

#include "io/loop/context_timers.h"

namespace cellar {

ShardLoop::ShardLoop(int64_t spin_us) : spin_us_(spin_us), last_work_us_(steady_us()) {
  CHECK(spin_us >= 0 && spin_us <= kMaxSpinUs, "spin of {} us is outside 0..{}", spin_us,
        kMaxSpinUs);
  timers_.advance(last_work_us_);
}

ShardLoop::~ShardLoop() { destroy_context(); }

void ShardLoop::run() {
  while (!stopping_.load(std::memory_order_acquire)) turn(true);
  stopping_.store(false, std::memory_order_release);
}

void ShardLoop::stop() {
  stopping_.store(true, std::memory_order_release);
  asio::post(context(), [] {});
}

bool ShardLoop::turn(bool may_sleep) {
  ++turns_;
  bool worked = timers_.advance(steady_us()) > 0;
  if (run_ready_handlers()) worked = true;
  if (run_hooks()) worked = true;
  const int64_t now_us = timers_.now_us();
  if (worked) {
    note_work(now_us);
    return true;
  }
  paused_ = true;
  const bool spins = spin_credits_ >= kSpinCredits && now_us - last_work_us_ < spin_us_;
  if (may_sleep && !spins && hooks_may_sleep()) sleep();
  return false;
}

void ShardLoop::note_work(int64_t now_us) {
  if (paused_) {
    const bool was_short = now_us - last_work_us_ <= spin_us_ + kWakeUs;
    spin_credits_ = was_short ? std::min(spin_credits_ + 1, kAllCredits) : 0;
    paused_ = false;
  }
  last_work_us_ = now_us;
}

void ShardLoop::sleep() {
  if (spin_credits_ >= kSpinCredits) spin_credits_ -= kSpinCredits;  // it has spun in vain
  const int64_t began_us = steady_us();
  const int64_t due_us = timers_.next_due_us();
  timers_.begin_sleep(&steady_us);
  size_t ran = 0;
  if (due_us == WheelTimers::kNever) {
    ran = context().run_one();
  } else if (due_us > began_us) {
    ran = context().run_one_for(std::chrono::microseconds(due_us - began_us));
  }
  const int64_t ended_us = steady_us();
  slept_us_ += ended_us - began_us;
  if (ran > 0) note_work(ended_us);
}

void block_on(ShardLoop& loop, Async<void> work) {
  bool done = false;
  spawn(loop.executor(), detail::run_into(std::move(work), done));
  while (!done) loop.turn(true);
}

namespace detail {
Async<void> run_into(Async<void> work, bool& done) {
  co_await std::move(work);
  done = true;
}
}  // namespace detail

}  // namespace cellar
