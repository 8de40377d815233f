// Pace: how much of the time a merge works, so that it writes no more than that share of what the
// disk can: between two slices it rests as long as its share asks for. One shard.
//
// The share is of bytes by this: a job that is at work for a share s of the time writes s of what
// it would write without rests, and that is no more than the disk takes. Rests are taken as soon
// as they add up to a timer's tick, so that bytes come evenly and not in one burst. What a job
// waits for its slices, because others are served, is neither work nor rest.
//
//   share 0.25, slices of 250 us: 250 us of work, 750 us of rest
#pragma once

#include <algorithm>
#include <cstdint>

#include "io/runtime/async.h"
#include "io/runtime/event.h"
#include "io/runtime/timers.h"

namespace cellar::engine {

class Pace {
 public:
  static constexpr int64_t kLeastRestUs = Timers::kTickUs;
  // Of one slice no more is counted as work: what took longer was not the job.
  static constexpr int64_t kMostWorkUs = 50'000;
  // A share that is less counts as this.
  static constexpr double kLeastShare = 0.001;

  explicit Pace(Timers& timers)
      : timers_(timers),
        alarm_(timers, [](void* self) { static_cast<Pace*>(self)->wake(); }, this) {}

  // Before a job; `share` above 0, to 1: no rests.
  void begin(double share) {
    share_ = std::clamp(share, kLeastShare, 1.0);
    owed_us_ = 0;
    worked_us_ = rested_us_ = waited_us_ = 0;
    since_us_ = timers_.now_us();
  }
  // Someone waits for the job under way: it rests no more.
  void hurry() {
    share_ = 1;
    owed_us_ = 0;
    wake();
  }
  // Ends a rest: the job looks whether it is cancelled.
  void wake() { woken_.notify_all(); }
  // Between two slices: rests if it is time to, once. It may be woken early.
  Async<void> rest() {
    count();
    if (!owes_rest()) co_return;
    alarm_.arm_after_us(static_cast<int64_t>(owed_us_));
    co_await woken_.wait();
    alarm_.cancel();
    const int64_t rest_us = pass();
    rested_us_ += rest_us;
    owed_us_ = std::max(0.0, owed_us_ - static_cast<double>(rest_us));
  }
  bool owes_rest() const { return owed_us_ >= kLeastRestUs; }
  // A slice begins: the time since the last call was waiting for it, which is neither work nor
  // rest.
  void begin_slice() { waited_us_ += pass(); }
  // It took so long; the timers' time stood still meanwhile.
  void end_slice(int64_t took_us) {
    add_work(took_us);
    total_us_ += took_us;
    since_us_ += took_us;
  }
  // After a job that read so many bytes: remembers how long that takes.
  void end(uint64_t bytes) {
    count();
    if (bytes == 0 || worked_us_ == 0) return;
    // work_us() divides by the share, which the time of waiting does not know.
    const double took_us =
        static_cast<double>(worked_us_) + static_cast<double>(waited_us_) * share_;
    const double per_byte = took_us / static_cast<double>(bytes);
    us_per_byte_ = us_per_byte_ == 0 ? per_byte : 0.75 * us_per_byte_ + 0.25 * per_byte;
  }
  int64_t worked_us() const { return worked_us_; }  // of the job begun last
  int64_t rested_us() const { return rested_us_; }
  int64_t total_us() const { return total_us_; }  // of all jobs: worked, waited and rested
  // What a job of so many bytes will take, rests included; 0 while none has been seen.
  int64_t work_us(double bytes) const {
    return static_cast<int64_t>(std::min(bytes * us_per_byte_ / share_, 1e15));
  }

 private:
  void count() { add_work(pass()); }
  // What has passed since the last call.
  int64_t pass() {
    const int64_t passed_us = std::max<int64_t>(timers_.now_us() - since_us_, 0);
    total_us_ += passed_us;
    since_us_ += passed_us;
    return passed_us;
  }
  void add_work(int64_t took_us) {
    const int64_t worked_us = std::min(took_us, kMostWorkUs);
    worked_us_ += worked_us;
    owed_us_ += static_cast<double>(worked_us) * (1 / share_ - 1);
  }

  Timers& timers_;
  Timer alarm_;
  Notify woken_;
  double share_ = 1;
  double owed_us_ = 0;
  double us_per_byte_ = 0;
  int64_t since_us_ = 0;
  int64_t worked_us_ = 0;
  int64_t rested_us_ = 0;
  int64_t waited_us_ = 0;  // for slices
  int64_t total_us_ = 0;
};

}  // namespace cellar::engine
