// FlowControl: slows the writers of a shard down, early and smoothly, so that what they fill need
// not be refused and no write waits for long.
//
// What fills up: the memtables of the shard, what waits for the log's disk, and for each tablet the
// runs that merging is behind with. Each has a level from 0 to its bound; its pressure p is 0 up to
// half of the bound and rises to 1 at the bound. While any pressure is above 0, commits are
// answered no faster than
//
//     rate(p) = drain * (1 - p) / p          and never slower than kLeastRate
//
// where drain is how fast the thing has been emptied lately. So the answers come faster than the
// drain below the middle and slower above it, and the level settles where what comes is what goes;
// a drain that was guessed wrong by twice moves that place by a sixth of the bound and no more.
//
// A log that stands still for longer than kStillUs is not believed to drain as it did: what was
// seen of it counts for (kStillUs / still)^2, and the least rate for kStillUs / still. So what is
// answered while it stands is bounded however fast it drained before and however long it stands: a
// drain of half a bound within kStillUs uses up most of what is left of the bound, not all.
//
// Answers are held back, not commits: a commit is in the log and in memory, durable at its level
// and visible, before its turn to be answered. A client that waits for its answers is slowed so,
// and one that does not is held by its bound of requests in flight. Beyond the bounds stand the
// refusals (RESOURCE_EXHAUSTED), which this makes rare.
//
// Fairness: of the shard's rate every tablet that has answers waiting gets the same, in turns, and
// one share is set apart for those that have none: a tablet that asks for less than its share does
// not wait, however large the commits are for which others overdraw theirs. A tablet's own pressure
// holds its own answers only, and by bytes, not by ticks: the rate that it allows is credit that
// comes with time, spent as soon as it is there, so that few clients that wait for their answers
// get it as well as many.
//
//   memtables 60 % full: p 0.2, answers at 4 times the drain; 75 %: as the drain; 95 %: at a ninth
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <vector>

#include "io/loop/timers.h"

namespace cellar::engine {

struct Write;

// What fills up in a shard.
struct FlowLevels {
  uint64_t memtable_bytes = 0;
  uint64_t memtable_bound = 1;
  uint64_t log_pending_bytes = 0;  // wait for the disk
  uint64_t log_pending_bound = 1;
  uint64_t log_durable_end = 0;  // a position, which tells how fast the log drains
};

// 0 to 1 each.
struct FlowPressures {
  double memtables = 0;
  double log = 0;
};

// 0 to 1; see above.
double flow_pressure(uint64_t level, uint64_t bound);
// Bytes a second.
double flow_rate(double drain, double pressure);

// One shard.
class FlowControl {
 public:
  static constexpr double kLeastRate = 1u << 20;    // bytes a second, of each pressure
  static constexpr double kFirstDrain = 64u << 20;  // until one was seen
  // Of runs more than allowed, so many are nothing, and with so many the pressure is full. While
  // everything of a tablet is merged, which takes a part of a minute, thirty to fifty come beside;
  // that far the writers are to be slowed a little and merging to be given more of the processor
  // (Background), so that the level settles, and not to be stopped.
  static constexpr size_t kFreeRuns = 6;
  static constexpr size_t kMostRuns = 72;
  // However far merging is behind, a tablet's writers are answered at this part of the drain: one
  // merge of everything may take long, runs only become fewer when it ends, and nothing is full
  // meanwhile. So slowed, merging catches up, for it writes each byte five to six times.
  static constexpr double kLeastOfDrain = 0.125;
  // A log that writes has moved on within this.
  static constexpr int64_t kStillUs = 20'000;
  // Credit is gathered for so long at most.
  static constexpr int64_t kMostCreditUs = 20'000;

  // Those who write to one tablet. Lives as long; must not outlive the FlowControl.
  class Writers {
   public:
    explicit Writers(FlowControl& flow) : flow_(flow) {}
    ~Writers();  // what it holds is answered with the next tick
    Writers(const Writers&) = delete;
    Writers& operator=(const Writers&) = delete;

    void note_commit(size_t bytes) {
      mean_bytes_ += (static_cast<double>(bytes) - mean_bytes_) / 64;
    }
    void set_runs_behind(size_t runs);
    // Answers the write now, or when it is its turn. The write has left every other list.
    void answer(Write& write);
    bool waits() const { return first_ != nullptr; }
    double pressure() const { return pressure_; }  // of its own, 0 to 1

   private:
    friend class FlowControl;
    void push(Write& write);
    Write& pop();

    FlowControl& flow_;
    double mean_bytes_ = 256;  // of a commit, lately
    double pressure_ = 0;      // of its own
    double credit_ = 0;        // bytes that its own pressure lets be answered, as of
    int64_t accrued_us_ = 0;   // this time
    double spent_ = 0;         // in the tick with this number, without waiting
    uint64_t spent_tick_ = 0;
    Write* first_ = nullptr;
    Write* last_ = nullptr;
  };

  explicit FlowControl(Timers& timers);
  FlowControl(const FlowControl&) = delete;
  FlowControl& operator=(const FlowControl&) = delete;

  // Where the levels are read; before the first commit.
  void watch(std::function<FlowLevels()> levels) { levels_ = std::move(levels); }
  // A memtable of so many bytes went to disk.
  void flushed(uint64_t bytes, int64_t took_us);

  bool slow() const { return slow_; }
  uint64_t held() const { return held_; }  // answers that had to wait, so far
  // What holds the shard's writers now; a tablet's own pressure is its writers'.
  FlowPressures pressures() const;

 private:
  bool pressed() const;
  bool passes(Writers& writers);
  bool takes_light_share(Writers& writers);
  void accrue(Writers& writers) const;
  void hold(Writers& writers, Write& write);
  void begin();
  void tick();
  double shared_rate(const FlowLevels& levels) const;
  double log_rate(double pressure) const;
  double runs_rate(double pressure) const;
  void measure_log(const FlowLevels& levels, double seconds);
  void give_credit(double rate, double seconds);
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
  uint64_t tick_ = 0;
  uint64_t log_durable_end_ = 0;
  int64_t log_moved_us_ = 0;  // when the log was seen to get on, or to have nothing to do
  bool unlimited_ = true;     // the shard's own pressures are 0
  double credit_ = 0;         // bytes that may be answered of those that wait
  double light_credit_ = 0;   // of those that do not have to; what they leave goes to the others
  double share_ = 0;          // of it, what one tablet may take in a tick
  std::deque<Writers*> waiting_;
  std::vector<Write*> orphans_;  // lists of answers of tablets that are gone
  uint64_t held_ = 0;
};

}  // namespace cellar::engine
