// RuleHold: a change of rules (engine/node/alter_table.h) holds a tablet: first its writes, then
// its reads, so that no commit and no answer lies between the old rules and the new ones.
//
//   hold_writes(); co_await earlier_writes_appended(); wait until they are visible; hold_reads();
//   Tablet::alter(); release()
//
// What removes data plans while the rules are known, so it judges at an instant before the next
// change. Part of a tablet. One shard.
#pragma once

#include "engine/version/version.h"
#include "engine/write/row_lock_table.h"
#include "io/loop/async.h"
#include "io/loop/event.h"

namespace cellar::engine {

class RuleHold {
 public:
  // Both must outlive it.
  RuleHold(RowLockTable& writes, TabletFacts& facts) : writes_(writes), facts_(facts) {}
  RuleHold(const RuleHold&) = delete;
  RuleHold& operator=(const RuleHold&) = delete;

  // Writes that arrive from now on wait until release(). REQUIRES: not held.
  void hold_writes() { writes_.hold(); }
  // Resumes when every earlier write is in the log, or after release(). REQUIRES: held.
  Async<void> earlier_writes_appended() { return writes_.closed(); }
  // From now on reads by clients are ABORTED until release(), a cursor between two rows must be
  // opened again (ScanCursor::must_reopen), and planning of removals waits (rules_known()).
  // REQUIRES: held, and all earlier writes are visible.
  void hold_reads() { facts_.reads_held = true; }
  bool holds_writes() const { return writes_.is_held(); }
  bool holds_reads() const { return facts_.reads_held; }
  void release() {
    facts_.reads_held = false;
    released_.notify_all();
    writes_.release();
  }
  // Resumes when reads are not held. A plan made then judges at an instant before the next change.
  Async<void> rules_known() {
    while (holds_reads()) co_await released_.wait();
  }
  bool rules_are_known() const { return !holds_reads(); }

 private:
  RowLockTable& writes_;
  TabletFacts& facts_;
  ConditionVariable released_;
};

}  // namespace cellar::engine
