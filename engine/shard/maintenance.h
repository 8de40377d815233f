// Maintenance: what a shard does by itself: flushing, compacting, reclaiming, trimming its log.
// Three loops, so that a long compaction does not hold up a flush; each does one thing at a time.
// A fourth frees the memory of memtables that are gone, a fifth has the log cleared in time.
//
// What is flushed next, in this order:
//   1. the biggest memtable, while all of them take more than the soft bound;
//   2. a tablet with a frozen memtable (replayed at the start, or left by a flush that failed), or
//      whose active one is full;
//   3. the tablet that is reclaimed next, while the one before it is: what killed cells has to be
//      on disk before they can go;
//   4. a tablet with something in memory that has been dead for long (memory_deaths.h);
//   5. the tablet that holds the log back most, while the log is longer than its bound, or has to
//      be cleared of what has died in it (log_deaths.h).
//
// Reclaiming (reclaim.h) sleeps until the first death that gives it something to do, and looks
// again when tables come or go; the tablets of the shard are one queue (reclaim_plan.h). A merge
// for the shape of the tree waits for it where reclaiming, which merges more, would have to wait
// for its end, until there are kRunsThatCannotWait runs too many.
//
// A job that fails leaves everything as it was, is reported, and is tried again after kRetryUs: so
// a full disk heals by itself. A stopped shard (its log or the manifest failed) flushes no more.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "engine/tablet/shard_context.h"
#include "engine/tablet/tablet.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"
#include "io/loop/timers.h"

namespace cellar::engine {

class Maintenance {
 public:
  // Between two attempts after a failure.
  static constexpr int64_t kRetryUs = 10'000'000;
  // The log is kept shorter than this many segments, and than this many bytes where segments are
  // large.
  static constexpr uint64_t kMaxLogSegments = 4;
  static constexpr uint64_t kMaxLogBytes = 256u << 20;
  // Appended bytes after which the length of the log is looked at.
  static constexpr uint64_t kLogCheckBytes = 1u << 20;
  // Reclaiming looks again after so long at most, for trusted time may lag behind the timers'; and
  // not sooner than after the least. When a tablet is tried again: reclaim_state.h.
  static constexpr int64_t kMostReclaimWaitUs = 600'000'000;
  static constexpr int64_t kLeastReclaimWaitUs = 100'000;
  // Of the shortest reclaim_within of the shard's tables, a look; and at least so long apart.
  static constexpr int64_t kLooksWithin = 4;
  static constexpr int64_t kLeastLookUs = 1'000'000;
  // So many runs too many (tablet.h), and a merge is begun whatever is to be reclaimed.
  static constexpr size_t kRunsThatCannotWait = 4;
  // Tablets looked at anew between two yields.
  static constexpr size_t kReclaimLooks = 16;
  // After it has taken files away reclaiming rests, so that it is at that for the table's
  // reclaim_share of the time; but never longer than this.
  static constexpr int64_t kMostReclaimRestUs = 3'600'000'000;

  // Both must outlive it.
  Maintenance(ShardContext& shard, TabletTableOfShard& tablets);

  void start();
  // Resumes when the loops have ended; a job under way is finished first.
  Async<void> stop();

  // A table or another rule came: what dies may do so sooner than was looked for.
  void tables_changed() {
    rules_changed();
    wake_flush();
  }
  // There may be something to flush.
  void wake_flush() { flush_.wake.notify_all(); }
  void runs_changed(TabletId tablet);
  // Rules were changed: something may be due sooner or later.
  void rules_changed() {
    ++reclaim_told_;
    reclaim_.wake.notify_all();
  }
  // Gives back the part of the log that no tablet needs.
  void trim_log();
  uint64_t log_bound() const { return log_bound_; }

 private:
  struct LoopState {
    LoopState(Timers& timers) : retry(timers, &LoopState::on_timer, this) {}
    static void on_timer(void* self) { static_cast<LoopState*>(self)->wake.notify_all(); }
    ConditionVariable wake;
    Timer retry;
    int64_t not_before_us = 0;
  };

  Async<void> flush_loop();
  Async<void> compaction_loop();
  Async<void> reclaim_loop();
  Async<void> release_loop();
  Async<void> log_loop();
  // The tablet whose turn it is, and when that begins: trusted time; INT64_MAX: none.
  struct Turn {
    TabletId tablet;
    int64_t due_us = INT64_MAX;
    std::optional<TabletId> following;  // comes soon after it
  };
  Async<Turn> next_to_reclaim();
  Async<Result<void>> reclaim_one(Turn turn);
  bool waits_for_reclaim(const Tablet& tablet) const;
  void resume_merges();
  Async<Result<void>> flush_one(Tablet* tablet);
  Async<Result<void>> compact_one(TabletId id);
  Tablet* next_to_flush() const;
  Tablet* longest_dead_in_memory() const;
  bool asks_for_time(int64_t due_us);
  bool memory_asks_for_time();
  // So long after now a shard that nobody asks anything looks again: commits alone wake nobody.
  int64_t look_again_us() const;
  bool waits(const LoopState& loop) const;
  void back_off(LoopState& loop, std::string_view what, const Error& error);

  ShardContext& shard_;
  TabletTableOfShard& tablets_;
  const uint64_t log_bound_;
  LoopState flush_;
  LoopState compaction_;
  LoopState reclaim_;
  Timer log_timer_;
  LogPosition log_cleared_to_ = kLogBegin;  // memtables that begin before are flushed
  uint64_t reclaim_told_ = 0;               // how often something changed that reclaiming looks at
  std::optional<TabletId> flush_ahead_;     // what is reclaimed next
  int64_t next_reclaim_us_ = INT64_MAX;     // trusted, as of its last look
  std::set<TabletId> to_compact_;
  std::set<TabletId> to_compact_later_;  // after reclaiming
  bool stopping_ = false;
  Gate loops_{"maintenance"};
};

}  // namespace cellar::engine
