// LogDeaths: deadlines by which flushed records must leave the log. A log segment counts as a file
// (SEMANTICS 3): a cell that dies, before or after it was flushed, leaves the log within the
// table's reclaim_within. A busy log reuses its segments before that; for a quiet one maintenance.h
// closes the current segment, flushes the memtables that need it, and has it removed.
//
//   note(end, due)     what lies before `end` and is flushed should be removed soon after `due`
//   note_all(due)      the same for everything noted: a rule was changed
//   take(now)          the end of what is due
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>

#include "engine/store/log_store.h"
#include "io/loop/event.h"

namespace cellar::engine {

// Owned by one shard. Times are trusted.
class LogDeaths {
 public:
  // kFlushedWithin: the fraction of reclaim_within by which memory_deaths.h has flushed.
  // kClearWait: the divisor of reclaim_within for the time from then until the log is cleared.
  static constexpr double kFlushedWithin = 0.75;
  static constexpr int64_t kClearWait = 16;
  static constexpr size_t kMostNotes = 16;

  // INT64_MAX: nothing dies there as things are.
  void note(LogPosition end, int64_t due_us) {
    end_ = std::max(end_, end);
    if (due_us == INT64_MAX || end <= taken_) return;
    while (!notes_.empty() && notes_.back().due_us >= due_us) {
      end = std::max(end, notes_.back().end);
      notes_.pop_back();
    }
    if (!notes_.empty() && notes_.back().end >= end) return;
    notes_.push_back({end, due_us});
    if (notes_.size() > kMostNotes) {
      notes_[kMostNotes - 1].end = notes_.back().end;
      notes_.pop_back();
    }
    changed_.notify_all();
  }
  void note_all(int64_t due_us) { note(end_, due_us); }

  int64_t due_us() const { return notes_.empty() ? INT64_MAX : notes_.front().due_us; }
  LogPosition take(int64_t now_us) {
    while (due_us() <= now_us) {
      taken_ = notes_.front().end;
      notes_.pop_front();
    }
    return taken_;
  }
  // Resumes at the next note or wake().
  Async<void> wait() { return changed_.wait(); }
  void wake() { changed_.notify_all(); }

 private:
  struct Note {
    LogPosition end;
    int64_t due_us = 0;
  };
  std::deque<Note> notes_;  // both `end` and time are ascending
  LogPosition end_ = kLogBegin;
  LogPosition taken_ = kLogBegin;
  ConditionVariable changed_;
};

}  // namespace cellar::engine
