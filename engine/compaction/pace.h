// Pace: the share of the time in which a merge works, so that it ends when it has to and does not
// exceed its write rate: it pauses between slices as necessary. One shard.
//
// There are two limits. The share of the time applies while the job is not urgent; it rises as far
// as necessary for the job to end by `end_by_us`, estimated from the remaining work and the speed
// so far, and falls again when the job is ahead. The write rate is a ceiling that only the end of
// the shard lifts: on average no more than `write_rate` is written.
//
// Pauses are taken as soon as they add up to a timer's tick, so that writes are even. Time spent
// waiting for a slice counts as a pause.
//
//   share 0.25, slices of 250 us: 250 us of work, 750 us of pause or waiting
//   half of the work is left, the first half took 2 s, and 3 s are left: share 0.8
#pragma once

#include <algorithm>
#include <cstdint>

#include "io/loop/async.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"

namespace cellar::engine {

// The limits of a job. Times are the timers'.
struct PaceTask {
  double share = 1;               // minimum share of the time: above 0, up to 1 (no pauses)
  int64_t end_by_us = INT64_MAX;  // INT64_MAX: not urgent
  double bytes = 0;               // approximate bytes read
  double write_rate = 0;          // bytes per microsecond that it may write; 0: unlimited
};

class Pace {
 public:
  static constexpr int64_t kLeastRestUs = Timers::kTickUs;
  // A slice counts as at most this much work; the rest was not the job.
  static constexpr int64_t kMostWorkUs = 50'000;
  // Smaller shares count as this.
  static constexpr double kLeastShare = 0.001;
  // Factor by which the share exceeds the necessary one.
  static constexpr double kHaste = 1.2;
  // Part of the job after which its own speed replaces that of earlier jobs.
  static constexpr double kTelling = 0.1;
  // Time with a lower write rate gives at most this much credit for later.
  static constexpr double kMostCreditUs = 100'000;
  // Time per byte before the first job: 100 MB/s.
  static constexpr double kFirstUsPerByte = 0.01;

  explicit Pace(Timers& timers)
      : timers_(timers),
        alarm_(timers, [](void* self) { static_cast<Pace*>(self)->wake(); }, this) {}

  // Call before a job.
  void begin(const PaceTask& task);
  // A caller waits for the current job: it pauses only for the write rate.
  void boost();
  // Like boost(), and removes the write limit.
  void finish_at_once();
  // Ends a pause, so that the job checks whether it is cancelled.
  void wake() { woken_.notify_all(); }
  // `done`: completed part of the job, 0 to 1; `written`: bytes written by it.
  void progress(double done, uint64_t written);
  // Call between two slices: pauses once if a pause is due. wake() ends it early.
  Async<void> rest();
  bool owes_rest() const { return owed() >= kLeastRestUs; }
  // A slice starts: the time since the last call was spent waiting for it.
  void begin_slice();
  // Its length; the timers' time did not advance meanwhile.
  void end_slice(int64_t took_us);
  // After a job that read `bytes`: records its speed.
  void end(uint64_t bytes);
  // The job has ended, successfully or not.
  void over() { running_ = false; }
  // Records the speed of a job paced elsewhere.
  void learn(int64_t worked_us, uint64_t bytes);

  // The present share of the current job; 0: none.
  double share() const { return running_ ? share_ : 0; }
  int64_t worked_us() const { return worked_us_; }  // of the last job started
  int64_t rested_us() const { return rested_us_; }
  int64_t total_us() const { return total_us_; }  // of all jobs: work, waiting and pauses
  bool has_learned() const { return us_per_byte_ > 0; }
  // Time per byte read, without pauses and waiting.
  double us_per_byte() const { return has_learned() ? us_per_byte_ : kFirstUsPerByte; }

 private:
  double owed() const { return std::max(owed_us_, owed_for_bytes_us_); }
  void pass_for_bytes(int64_t us) {
    owed_for_bytes_us_ = std::max(-kMostCreditUs, owed_for_bytes_us_ - static_cast<double>(us));
  }
  void count() { add_work(pass()); }
  int64_t pass();
  void add_work(int64_t took_us);
  void add_rest(int64_t us) { owed_us_ = std::max(0.0, owed_us_ - static_cast<double>(us)); }
  void steer(double done);

  Timers& timers_;
  Timer alarm_;
  ConditionVariable woken_;
  PaceTask task_;
  bool running_ = false;
  double share_ = 1;
  double owed_us_ = 0;
  double owed_for_bytes_us_ = 0;
  uint64_t written_ = 0;
  double us_per_byte_ = 0;
  int64_t since_us_ = 0;
  int64_t worked_us_ = 0;
  int64_t rested_us_ = 0;
  int64_t total_us_ = 0;
};

}  // namespace cellar::engine
