// CommitQueue: the commits of one tablet from their append to the log until they are visible. First
// in, first out.
//
// A commit enters the memtable, with its stamp, when it is appended. Readers read at the visible
// stamp, which only this class advances. The log reports appends in append order over all levels of
// durability, so the reported commit is always the first of its tablet's queue, and advancing the
// visible stamp to it makes exactly those commits visible that are durable at their level together
// with all before them.
//
// After a failure of the log every queued commit fails, and the visible stamp never moves again:
// what was appended after the last good write may or may not be on disk, and only the next start
// can tell.
//
// Example: A (memory) is appended after B (sync). The log reports B first, when its write is done,
// then A at once: A was not visible before B.
#pragma once

#include "engine/engine.h"
#include "engine/version/version.h"
#include "engine/write/flow_control.h"
#include "io/loop/event.h"

namespace cellar::engine {

// Owned by one tablet, used on its shard.
class CommitQueue {
 public:
  CommitQueue(TabletFacts& facts, FlowControl::Writers& writers)
      : facts_(facts), writers_(writers) {}
  CommitQueue(const CommitQueue&) = delete;
  CommitQueue& operator=(const CommitQueue&) = delete;

  // The write has been appended to the log and inserted into the memtable. Its `done` will run.
  void push(Write& write);
  // The log has reported the write: it becomes visible and is answered as flow control permits, or
  // fails and is answered at once.
  void reported(Write& write);

  bool empty() const { return head_ == nullptr; }
  // Resumes when commits up to `stamp` are visible, or with the log's error when they never will
  // be.
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
