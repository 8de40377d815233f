// Pace: the budgets of one merge, so that it ends when it has to and does not exceed its write
// rate: it pauses between slices as necessary.
//
// There are two budgets (io/loop/rate_budget.h). The share of the time applies while the job is not
// urgent; it rises as far as necessary for the job to end by `end_by_us`, estimated from the
// remaining work and the speed so far, and falls again when the job is ahead. The write rate is a
// ceiling that only the end of the shard lifts: on average no more than `write_rate` is written.
//
// Pauses are taken as soon as they add up to a timer's tick, so that writes are even. Time spent
// waiting for a slice counts as a pause; slices and the I/O between them count as work.
//
//   share 0.25, slices of 250 us: 250 us of work, 750 us of pause or waiting
//   half of the work is left, the first half took 2 s, and 3 s are left: share 0.8
#pragma once

#include <algorithm>
#include <cstdint>

#include "io/loop/async.h"
#include "io/loop/event.h"
#include "io/loop/rate_budget.h"
#include "io/loop/timers.h"

namespace cellar::engine {

// The limits of a job. Times are the timers'.
struct PaceTask {
  double share = 1;               // minimum share of the time: above 0, up to 1 (no pauses)
  int64_t end_by_us = INT64_MAX;  // INT64_MAX: not urgent
  double work_us = 0;             // estimated work
  double write_rate = RateBudget::kUnlimited;  // bytes per microsecond that it may write
};

// Of one job on one shard.
class Pace {
 public:
  static constexpr int64_t kLeastRestUs = Timers::kTickUs;
  // A slice and the I/O after it count as at most this much work; the rest was not the job.
  static constexpr int64_t kMostWorkUs = 50'000;
  // Smaller shares count as this.
  static constexpr double kLeastShare = 0.001;
  // Factor by which the share exceeds the necessary one.
  static constexpr double kHaste = 1.2;
  // Part of the job after which its own speed replaces the estimate.
  static constexpr double kTelling = 0.1;
  // Time with a lower write rate gives at most this much credit for later.
  static constexpr double kMostCreditUs = 100'000;

  // The job starts.
  Pace(Timers& timers, const PaceTask& task);

  // A caller waits for the job: it pauses only for the write rate.
  void boost();
  // Removes both limits: the shard closes, or the job is cancelled. Ends a pause.
  void finish_at_once();
  // `done`: completed part of the job, 0 to 1; `written`: bytes written by it.
  void progress(double done, uint64_t written);
  // Call between two slices: pauses as long as due.
  Async<void> rest();
  // A slice starts: the time since the pause was spent waiting for it.
  void begin_slice();
  // Its length. The timers' time may not have advanced meanwhile.
  void end_slice(int64_t took_us) { slice_us_ += took_us; }

  double share() const { return share_; }  // present
  int64_t worked_us() const { return worked_us_ + std::min(uncounted_us(), kMostWorkUs); }

 private:
  void earn();
  // Time of work that the budgets have not seen.
  int64_t uncounted_us() const { return std::max(timers_.now_us() - since_us_, slice_us_); }
  void count_work();
  void steer(double done);
  double owed_us() const { return std::max(rest_.wait_us(1), bytes_.wait_us(task_.write_rate)); }

  Timers& timers_;
  Timer alarm_;
  ConditionVariable woken_;
  PaceTask task_;
  double share_;
  RateBudget rest_;   // microseconds of pauses
  RateBudget bytes_;  // written
  uint64_t written_ = 0;
  int64_t since_us_;      // begin of the work not counted yet,
  int64_t slice_us_ = 0;  // of which this was a slice
  int64_t worked_us_ = 0;
};

}  // namespace cellar::engine
