// Maintenance: the background work of a shard: flushing, compacting, reclaiming, trimming its log.
// Three loops, so that a long compaction does not block a flush; each does one thing at a time. A
// fourth builds indexes, a fifth frees the memory of destroyed memtables and pays the debts of the
// cache, a sixth has the log cleared in time.
//
// The next flush, in this order:
//   1. the biggest memtable, while all of them exceed the soft limit;
//   2. a tablet with a frozen memtable (replayed at the start, or left by a failed flush), or whose
//      active one is full;
//   3. the tablet that is reclaimed next, during the work on the previous one: data that killed
//      cells must be on disk before these can be removed;
//   4. a tablet with data in memory that has been dead for long (memory_deaths.h);
//   5. the tablet that holds the log back most, while the log exceeds its limit, or must be cleared
//      of what has died in it (log_deaths.h).
//
// Reclaiming (reclaim.h) sleeps until the first death that gives it work, and checks again when
// tables change; the tablets of the shard form one queue (reclaim_queue.h). An ordinary merge waits
// if reclaiming, which merges more, would otherwise have to wait for it, until there are
// kRunsThatCannotWait runs too many.
//
// Building indexes (build_indexes.h) rewrites tables one after the other, at the pace of
// reclaiming, as soon as there is something to do: indexes that are not ready first, tablet by
// tablet, and what dropped ones have left when no tablet has those. Flushes, merges and alterations
// tell of it; reads of indexes and the scrubber tell of damaged ones.
//
// A failed job changes nothing, is reported, and is retried after kRetryUs, so that the shard
// recovers from a full disk. A stopped shard (its log or the manifest failed) does not flush.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string_view>

#include "engine/jobs/build_indexes.h"
#include "engine/tablet/shard_context.h"
#include "engine/tablet/tablet.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"
#include "io/loop/timers.h"

namespace cellar::engine {

struct ReclaimTurn;

class Maintenance {
 public:
  // Pause after a failure.
  static constexpr int64_t kRetryUs = 10'000'000;
  // Limits of the log's length in segments and, for large segments, in bytes.
  static constexpr uint64_t kMaxLogSegments = 4;
  static constexpr uint64_t kMaxLogBytes = 256u << 20;
  // The length of the log is checked after this many appended bytes.
  static constexpr uint64_t kLogCheckBytes = 1u << 20;
  // Bounds of the wait of reclaiming: at most the first, because trusted time may lag behind the
  // timers, and at least the second. reclaim_forecast.h has the retry times of a tablet.
  static constexpr int64_t kMostReclaimWaitUs = 600'000'000;
  static constexpr int64_t kLeastReclaimWaitUs = 100'000;
  // Checks per shortest reclaim_within of the shard's tables, and the least interval.
  static constexpr int64_t kLooksWithin = 4;
  static constexpr int64_t kLeastLookUs = 1'000'000;
  // A search for something to reclaim looks at every tablet, and every flush and merge asks for
  // one. After a search that found nothing due the loop rests this many times as long, at most
  // kMostSearchRestUs, so that searches take a small part of the time however many tablets there
  // are; what is asked for meanwhile is one search.
  static constexpr int64_t kSearchRests = 20;
  static constexpr int64_t kMostSearchRestUs = 200'000;
  // With this many runs too many (tablet.h) a merge starts regardless of reclaiming.
  static constexpr size_t kRunsThatCannotWait = 4;
  // Chunks that memtables have not used for one to two of these intervals are returned to the
  // system. The second interval is used if the cache is full when it begins.
  static constexpr int64_t kAgeUs = 60'000'000;
  static constexpr int64_t kWantedAgeUs = 10'000'000;
  // Tablets checked between two yields.
  static constexpr size_t kReclaimLooks = 16;
  // After removing files reclaiming pauses, so that it uses the table's reclaim_share of the time;
  // the pause is at most this.
  static constexpr int64_t kMostReclaimRestUs = 3'600'000'000;

  // Both must outlive it.
  Maintenance(ShardContext& shard, TabletTableOfShard& tablets);

  void start();
  // Resumes when the loops have ended; a running job is finished first.
  Async<void> stop();

  // Tablets without data were added, of tables with this time to reclaim. Nothing of them is due
  // before they have data, of which flushes tell; only the shard may have to look more often.
  void tablets_added(int64_t reclaim_within_us) {
    if (reclaim_within_us / kLooksWithin < looks_every_us_) wake_flush();
  }
  // A table was altered: something may be due sooner.
  void tables_changed() {
    rules_changed();
    wake_flush();
  }
  // There may be something to flush.
  void wake_flush() { flush_.wake.notify_all(); }
  void runs_changed(TabletId tablet);
  // The tablet's tables, or the indexes that they should have, have changed, or one of them was
  // found damaged.
  void indexes_changed(TabletId tablet) {
    to_index_.insert(tablet);
    index_.wake.notify_all();
  }
  // Rules have changed: something may be due sooner or later.
  void rules_changed() {
    ++reclaim_told_;
    reclaim_.wake.notify_all();
  }
  // Releases the part of the log that no tablet needs.
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
  Async<void> index_loop();
  Async<void> release_loop();
  Async<void> rest_of_release();
  Async<void> log_loop();
  Async<ReclaimTurn> next_to_reclaim();
  Async<void> rest_from_search(int64_t took_us);
  Async<Result<void>> reclaim_one(ReclaimTurn turn);
  bool waits_for_reclaim(const Tablet& tablet) const;
  void resume_merges();
  Async<Result<void>> flush_one(Tablet* tablet);
  Async<Result<void>> compact_one(TabletId id);
  Async<Result<void>> index_one(TabletId id, bool extras);
  Tablet* next_to_flush() const;
  Tablet* longest_dead_in_memory() const;
  bool asks_for_time(int64_t due_us);
  bool memory_asks_for_time();
  // Interval at which an idle shard checks again, because commits alone do not wake it.
  int64_t look_again_us() const;
  bool waits(const LoopState& loop) const;
  void back_off(LoopState& loop, std::string_view what, const Error& error);

  ShardContext& shard_;
  TabletTableOfShard& tablets_;
  const uint64_t log_bound_;
  LoopState flush_;
  LoopState compaction_;
  LoopState reclaim_;
  LoopState index_;
  Timer log_timer_;
  Timer age_timer_;                         // of the memtables' idle blocks
  LogPosition log_cleared_to_ = kLogBegin;  // memtables that start before this are flushed
  uint64_t reclaim_told_ = 0;               // number of changes that affect reclaiming
  std::optional<TabletId> flush_ahead_;     // the next tablet to reclaim
  int64_t next_reclaim_us_ = INT64_MAX;     // trusted time, as of the last check
  std::set<TabletId> to_compact_;
  std::set<TabletId> to_compact_later_;  // after reclaiming
  TabletId compacted_;                   // the last one
  std::set<TabletId> to_index_;          // may have an index that is not ready
  std::set<TabletId> extra_indexes_;     // have dropped indexes on disk
  TabletId indexed_;                     // the last one
  int64_t looks_every_us_ = INT64_MAX;   // as of the last check for flushes
  bool stopping_ = false;
  Gate loops_{"maintenance"};
};

}  // namespace cellar::engine
