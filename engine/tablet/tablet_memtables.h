// TabletMemtables: the memtables of a tablet that are not flushed: the active one, which takes the
// commits, and frozen ones, which wait for their flush.
//
// Invariants
//   1. Commits are in the order of the memtables: every frozen one is before the active one.
//   2. A frozen memtable takes no commits, has some, and knows where in the log it ends.
//   3. They are flushed oldest first.
#pragma once

#include <cstddef>
#include <deque>
#include <vector>

#include "engine/store/log_store.h"
#include "engine/tablet/memtable_budget.h"
#include "engine/tablet/shard_log.h"
#include "engine/version/version.h"

namespace cellar::engine {

class TabletMemtables {
 public:
  // Both are the shard's.
  TabletMemtables(MemtableBudget& memory, const ShardLog& wal) : memory_(memory), wal_(wal) {}

  // Null until the first commit after a freeze.
  TabletMemtable* active() const { return active_.get(); }
  // A new active one, with entries of these indexes. REQUIRES: there is none.
  TabletMemtable& begin(IndexSetRef indexes);
  // Freezes the active memtable unless it has no commits; commits go to a new one.
  void freeze();
  // The next commit goes to a new memtable, with or without commits in the active one.
  void renew();
  // Before a range delete goes to the active memtable: freezes it if it has at least `least_bytes`,
  // of which kManyEntries lie in the range. In one memtable with the delete they would be walked
  // one by one by readers, which seek past those of an older one (read/scan.h). True: frozen.
  static constexpr size_t kManyEntries = 1024;
  bool freeze_before(const RangeDelete& range, size_t least_bytes);
  // The same for one that holds replayed commits only: nothing of the open log, so it does not
  // prevent trimming.
  void freeze_replayed();
  // True once for an active memtable of at least `bytes`.
  bool becomes_full(size_t bytes);

  // The frozen memtable that must be flushed next; null when there is none.
  Ref<TabletMemtable> oldest_frozen() const;
  bool has_frozen() const { return !frozen_.empty(); }
  // The oldest frozen one has been flushed.
  void flushed(const Ref<TabletMemtable>& memtable);

  std::vector<Ref<TabletMemtable>> newest_first() const;
  bool has_unflushed() const;
  size_t bytes() const;
  size_t active_bytes() const { return active_ ? active_->counted : 0; }
  // They do not need commits of the open log up to this position.
  LogPosition log_needed_from() const;

 private:
  bool has_active_commits() const { return active_ && active_->entries.has_commits(); }

  MemtableBudget& memory_;
  const ShardLog& wal_;
  Ref<TabletMemtable> active_;
  std::deque<Ref<TabletMemtable>> frozen_;  // oldest first
  bool full_reported_ = false;
};

}  // namespace cellar::engine
