// Pace: how much of the time a merge works, so that it ends when it has to and writes no more than
// it may: between two slices it rests as long as that asks for. One shard.
//
// Two bounds. The share of the time is what a job takes while nothing is urgent; it rises as far as
// is needed for the job to end by `end_by_us`, from what is left to do and how fast it went so far,
// and falls again when the job is ahead. The bytes are a ceiling that nothing lifts but the end of
// the shard: on average no more than `write_rate` is written.
//
// Rests are taken as soon as they add up to a timer's tick, so that bytes come evenly and not in
// one burst. What a job waits for its slices, because others are served, counts as rest.
//
//   share 0.25, slices of 250 us: 250 us of work, 750 us of rest, or of waiting for others
//   half of the work is left, of which the first half took 2 s, and 3 s until the end: share 0.8
#pragma once

#include <algorithm>
#include <cstdint>

#include "io/loop/async.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"

namespace cellar::engine {

// What a job is given. Times are the timers'.
struct PaceTask {
  double share = 1;               // of the time, at least: above 0, to 1 (no rests)
  int64_t end_by_us = INT64_MAX;  // INT64_MAX: nothing is urgent
  double bytes = 0;               // that it reads, about
  double write_rate = 0;          // bytes a microsecond that it may write; 0: no bound
};

class Pace {
 public:
  static constexpr int64_t kLeastRestUs = Timers::kTickUs;
  // Of one slice no more is counted as work: what took longer was not the job.
  static constexpr int64_t kMostWorkUs = 50'000;
  // A share that is less counts as this.
  static constexpr double kLeastShare = 0.001;
  // The share is so much more than what would just suffice.
  static constexpr double kHaste = 1.2;
  // Of the job done before its own speed is believed rather than that of earlier ones.
  static constexpr double kTelling = 0.1;
  // Of the time in which less was written than might have been, so much counts for what follows.
  static constexpr double kMostCreditUs = 100'000;
  // What a byte takes before any job has been seen: 100 MB/s.
  static constexpr double kFirstUsPerByte = 0.01;

  explicit Pace(Timers& timers)
      : timers_(timers),
        alarm_(timers, [](void* self) { static_cast<Pace*>(self)->wake(); }, this) {}

  // Before a job.
  void begin(const PaceTask& task);
  // Someone waits for the job under way: it rests no more than its bytes ask for.
  void boost();
  // Nobody minds what is written any more.
  void finish_at_once();
  // Ends a rest: the job looks whether it is cancelled.
  void wake() { woken_.notify_all(); }
  // So much of the job is done, 0 to 1, and so much was written by it.
  void progress(double done, uint64_t written);
  // Between two slices: rests if it is time to, once. It may be woken early.
  Async<void> rest();
  bool owes_rest() const { return owed() >= kLeastRestUs; }
  // A slice begins: the time since the last call was waiting for it.
  void begin_slice();
  // It took so long; the timers' time stood still meanwhile.
  void end_slice(int64_t took_us);
  // After a job that read so many bytes: remembers how long that takes.
  void end(uint64_t bytes);
  // The job is over, whatever became of it.
  void over() { running_ = false; }
  // After a job that somebody else paced.
  void learn(int64_t worked_us, uint64_t bytes);

  // The share that the job under way takes now; 0: there is none.
  double share() const { return running_ ? share_ : 0; }
  int64_t worked_us() const { return worked_us_; }  // of the job begun last
  int64_t rested_us() const { return rested_us_; }
  int64_t total_us() const { return total_us_; }  // of all jobs: worked, waited and rested
  bool has_learned() const { return us_per_byte_ > 0; }
  // What a byte read takes without rests and without waiting.
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
