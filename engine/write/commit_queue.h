// CommitQueue: the commits of one tablet between their append to the log and the moment they are
// visible. First in, first out.
//
// A commit enters the memtable when it is appended, with its stamp; nobody sees it, because readers
// read at the visible stamp, and that moves only here. The log reports appends in append order over
// all levels of durability, so the commit reported is always the first of its tablet's queue, and
// moving the visible stamp to it makes exactly the commits visible that are durable at their level
// with all before them.
//
// After a failure of the log every queued commit fails, and the visible stamp never moves again:
// what was appended after the last good write may or may not be on disk, and only the next start
// can tell.
//
// Example: A (memory) is appended behind B (sync). The log reports B first, when its write is done,
// then A at once: A was not visible before B.
#pragma once

#include "engine/engine.h"
#include "engine/version/version.h"
#include "engine/write/flow_control.h"
#include "io/loop/event.h"

namespace cellar::engine {

// One tablet's, on its shard.
class CommitQueue {
 public:
  CommitQueue(TabletFacts& facts, FlowControl::Writers& writers)
      : facts_(facts), writers_(writers) {}
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  // The write was appended to the log and is in the memtable. Its `done` will run.
  void push(Write& write);
  // The log has reported the write: it becomes visible and is answered when flow control lets it,
  // or fails and is answered at once.
  void reported(Write& write);

  bool empty() const { return head_ == nullptr; }
  // Resumes when commits up to `stamp` are visible, or never will be: then with the log's error.
  Async<Result<void>> visible(CommitStamp stamp);
  // Resumes when the queue is empty.
  Async<void> drained();

 private:
  TabletFacts& facts_;
  FlowControl::Writers& writers_;
  Write* head_ = nullptr;
  Write* tail_ = nullptr;
  std::optional<Error> failure_;
  ConditionVariable moved_;
};

}  // namespace cellar::engine
