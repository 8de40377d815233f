// RowLockTable: the rows of one tablet that a conditional write is reading from disk, and the
// queues of writes that wait for them, or for the end of a change of rules.
//
// A conditional write reads its row and writes it as one commit. When the row's blocks are in
// memory that is one synchronous call, and no row is locked. Otherwise other work runs while they
// are loaded, and the row is *open*: a write to it would come between the condition and its commit,
// so it waits here, and is submitted, in the order of arrival, when the row is closed. Writes to
// other rows are not delayed; while no row is open they pay one test.
//
// A range delete waits while it covers an open row. Every write that arrives after it waits for it,
// for any row: otherwise a cell written after the range delete would be committed before it, and
// die.
//
// A change of rules holds the table (hold()): every write that arrives waits until release(), in
// the order of arrival. Open rows are closed, and their queues submitted, as before.
//
// Bounded: waiting writes are copies; more than kMaxWaiting of them, or than kMaxWaitingBytes of
// copies, are refused.
//
// Example: row a is open. A set of a waits, a set of b passes, a drop of [a, c) waits, and from
// then on a set of b waits too. When a is closed the set of a is submitted, then the drop, then the
// set of b.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>

#include "engine/engine.h"
#include "engine/write/waiting_write.h"
#include "io/loop/event.h"

namespace cellar::engine {

// Submits writes that have waited.
class ConditionHost {
 public:
  virtual ~ConditionHost() = default;
  virtual void submit_waiting(Write& write) = 0;
  // False: it continues in the background with the row open, and calls close() later, not from
  // inside this call.
  virtual bool submit_waiting(ConditionalWrite& write) = 0;
};

class RowLockTable {
 public:
  static constexpr size_t kMaxWaiting = 10'000;
  static constexpr size_t kMaxWaitingBytes = 16u << 20;  // one write alone may have more

  explicit RowLockTable(ConditionHost& host) : host_(host) {}
  RowLockTable(const RowLockTable&) = delete;
  RowLockTable& operator=(const RowLockTable&) = delete;

  // No row is open, nothing waits, and nothing has to.
  bool idle() const { return open_.empty() && behind_.empty() && !held_; }
  // Resumes when it is idle.
  Async<void> drained();
  // From now on every write waits. REQUIRES: not held.
  void hold();
  bool is_held() const { return held_; }
  // Resumes when no row is open, and none will be while it is held; or after release().
  Async<void> closed();
  // Submits what has waited. REQUIRES: held.
  void release();
  // True: the write waits here, with a copy of what it views. False: it need not wait.
  // RESOURCE_EXHAUSTED.
  Result<bool> delay(Write& write);
  Result<bool> delay(ConditionalWrite& write);

  // A conditional write of the row has to load blocks. REQUIRES: the row is not open.
  void open(Bytes row);
  // The conditional write is finished: submits the writes that waited for it.
  void close(Bytes row);

 private:
  using Queue = std::deque<std::unique_ptr<WaitingWrite>>;

  bool touches_open_row(const RangeDelete& range) const;
  Queue* queue_for(Bytes row);
  Result<void> check_room(size_t bytes) const;
  Result<bool> wait_in(Queue& queue, std::unique_ptr<WaitingWrite> waiting);
  bool submit(WaitingWrite& waiting);
  void drain_behind();

  ConditionHost& host_;
  std::map<std::string, Queue, std::less<>> open_;  // by row
  // The first waiting range delete, or the first write after hold(), and everything that arrived
  // after it.
  Queue behind_;
  bool held_ = false;
  size_t waiting_ = 0;
  size_t waiting_bytes_ = 0;
  ConditionVariable quiet_;
};

}  // namespace cellar::engine
