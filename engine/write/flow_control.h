// FlowControl: slows the writers of a shard early and smoothly, so that refusals are rare and no
// write waits for long.
//
// The resources that writes fill are the memtables of the shard, the bytes waiting for the log's
// disk, and for each tablet the runs that compaction has not merged yet. Each has a level from 0 to
// its bound; its pressure p is 0 up to half of the bound and rises to 1 at the bound. While any
// pressure is above 0, commits are answered no faster than
//
//     rate(p) = drain * (1 - p) / p          and never slower than kLeastRate
//
// where drain is the recent rate at which the resource was emptied. Answers are faster than the
// drain below the middle and slower above it, so the level converges to where input equals output;
// a drain estimate wrong by a factor of two moves that level by at most a sixth of the bound.
//
// A log that has made no progress for longer than kStillUs is not assumed to drain at its earlier
// rate: the earlier rate counts with (kStillUs / still)^2, and the least rate with kStillUs /
// still. The bytes answered while it stands still are therefore bounded for any earlier rate and
// any duration: a drain of half a bound within kStillUs uses most of what is left of the bound, not
// all.
//
// Answers are delayed, not commits: a commit is in the log and in memory, durable at its level and
// visible before it is answered. A client that waits for answers is slowed by that; one that does
// not is limited by its bound of requests in flight. Above the bounds writes are refused
// (RESOURCE_EXHAUSTED).
//
// Fairness: all tablets with waiting answers get the same part of the shard's rate, in turns, and
// one part is reserved for tablets without waiting answers: a tablet that uses less than its part
// does not wait, however large the commits are with which others overdraw theirs. A tablet's own
// pressure delays only its own answers, and by bytes, not by ticks: its rate is credit that grows
// with time and is spent at once, so that few clients that wait for their answers get it as well as
// many. All of these are budgets (io/loop/rate_budget.h).
//
//   memtables 60 % full: p 0.2, answers at 4 times the drain; 75 %: as the drain; 95 %: at a ninth
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "io/loop/rate_budget.h"
#include "io/loop/timers.h"

namespace cellar::engine {

struct Write;

// Levels of the resources of a shard.
struct FlowLevels {
  uint64_t memtable_bytes = 0;
  uint64_t memtable_bound = 1;
  uint64_t full_memtable_bytes = 0;  // of one; 0: not known
  uint64_t log_pending_bytes = 0;    // wait for the disk
  uint64_t log_pending_bound = 1;
  bool log_failed = false;
  uint64_t log_durable_end = 0;  // a position, from which the log's drain is measured
};

// 0 to 1 each.
struct FlowPressures {
  double memtables = 0;
  double log = 0;
};

// 0 to 1; see the file head.
double flow_pressure(uint64_t level, uint64_t bound);
// Bytes per second, as all rates here.
double flow_rate(double drain, double pressure);

// Owned by one shard.
class FlowControl {
 public:
  static constexpr double kLeastRate = 1u << 20;    // bytes per second, for each pressure
  static constexpr double kFirstDrain = 64u << 20;  // until a drain has been measured
  // Pressure of a tablet's excess runs: 0 up to kFreeRuns, 1 at kMostRuns. A full merge of a tablet
  // takes tens of seconds, in which thirty to fifty runs are added; in that range writers should be
  // slowed a little and compaction given more of the processor (Background), so that the level
  // stabilises without stopping writers.
  static constexpr size_t kFreeRuns = 6;
  static constexpr size_t kMostRuns = 72;
  // Least part of the drain at which a tablet's writers are answered, for any excess of runs: one
  // full merge may take long, the number of runs falls only when it ends, and no resource is full
  // meanwhile. At this rate compaction catches up, because it writes each byte five to six times.
  static constexpr double kLeastOfDrain = 0.125;
  // A log that is writing makes progress within this time.
  static constexpr int64_t kStillUs = 20'000;
  // Longest time for which credit accumulates.
  static constexpr int64_t kMostCreditUs = 20'000;
  // The same for tablets without waiting answers: the longest usual time between two ticks.
  static constexpr int64_t kReserveUs = 2 * Timers::kTickUs;

  // The writers of one tablet. Owned by the tablet; must not outlive the FlowControl.
  class Writers {
   public:
    explicit Writers(FlowControl& flow) : flow_(flow) {}
    ~Writers();  // answers that are still held are sent with the next tick
    Writers(const Writers&) = delete;
    Writers& operator=(const Writers&) = delete;

    void note_commit(size_t bytes) {
      mean_bytes_ += (static_cast<double>(bytes) - mean_bytes_) / 64;
    }
    void set_runs_behind(size_t runs);
    // Answers the write now, or in its turn. REQUIRES: the write is in no other list.
    void answer(Write& write);
    bool waits() const { return first_ != nullptr; }
    double pressure() const { return pressure_; }  // the tablet's own, 0 to 1

   private:
    friend class FlowControl;
    void push(Write& write);
    Write& pop();

    FlowControl& flow_;
    double mean_bytes_ = 256;        // recent mean of a commit
    double pressure_ = 0;            // the tablet's own
    RateBudget own_{kMostCreditUs};  // what it allows
    RateBudget part_{kReserveUs};    // of the shard's rate, while no answer waits
    Write* first_ = nullptr;
    Write* last_ = nullptr;
  };

  explicit FlowControl(Timers& timers);
  FlowControl(const FlowControl&) = delete;
  FlowControl& operator=(const FlowControl&) = delete;

  // Sets the source of the levels; call before the first commit.
  void watch(std::function<FlowLevels()> levels) { levels_ = std::move(levels); }
  // A memtable of `bytes` was flushed to disk.
  void flushed(uint64_t bytes, int64_t took_us);

  bool slow() const { return slow_; }
  uint64_t held() const { return held_; }  // number of answers that had to wait
  // The pressures of the shard; a tablet's own pressure is in its Writers.
  FlowPressures pressures() const;

 private:
  bool pressed() const;
  bool passes(Writers& writers);
  bool takes_part(Writers& writers);
  void earn_own(Writers& writers) const;
  void hold(Writers& writers, Write& write);
  void begin();
  void tick();
  double shared_rate(const FlowLevels& levels) const;
  double log_rate(double pressure) const;
  double runs_rate(double pressure) const;
  void measure_log(const FlowLevels& levels, double seconds);
  void earn(double rate);
  void release();
  void adopt(Writers& writers);
  void release_orphans();

  Timers& timers_;
  Timer alarm_;
  std::function<FlowLevels()> levels_;
  double flush_drain_ = kFirstDrain;
  double log_drain_ = kFirstDrain;
  bool slow_ = false;
  int64_t ticked_us_ = 0;
  uint64_t log_durable_end_ = 0;
  int64_t log_moved_us_ = 0;  // when the log was last seen to make progress, or to be idle
  // Bytes that the shard's pressures allow: of waiting answers, and of tablets that have none.
  // Unlimited while these pressures are 0.
  RateBudget shared_{kMostCreditUs};
  RateBudget light_{kReserveUs};
  double part_rate_ = RateBudget::kUnlimited;  // of one tablet, and of light_
  std::deque<Writers*> waiting_;
  std::vector<Write*> orphans_;  // answers of destroyed tablets
  uint64_t held_ = 0;
};

}  // namespace cellar::engine
