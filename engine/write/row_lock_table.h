// RowLockTable: the rows of one tablet that a conditional write is reading from disk, and the
// writes that wait behind them.
//
// A conditional write reads its row and writes it as one commit. When the row's blocks are in
// memory that is one plain call, and nothing is noted here. When they are not, other work goes on
// while they are loaded, and the row is *open*: a write to it would slip in between what the
// condition saw and what follows from it, so it waits here, and is submitted, in the order of
// arrival, when the row is closed. Writes to other rows are not delayed; where no row is open they
// pay one test.
//
// A range delete waits while it covers an open row. What arrives after it waits behind it, whatever
// its row: else a cell written after the range delete would be committed before it, and die.
//
// Bounded: what waits is a copy, and beyond kMaxWaiting of them writes are refused.
//
// Example: row a is open. A set of a waits, a set of b goes through, a drop of [a, c) waits, and
// now a set of b waits too. a is closed: the set of a goes, then the drop, then the set of b.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "io/loop/event.h"

namespace cellar::engine {

// Takes what waited.
class ConditionHost {
 public:
  virtual ~ConditionHost() = default;
  virtual void submit_waiting(Write& write) = 0;
  // False when it needs time: the row is open for it now, and close() will follow, in another turn.
  virtual bool submit_waiting(ConditionalWrite& write) = 0;
};

class RowLockTable {
 public:
  static constexpr size_t kMaxWaiting = 10'000;

  explicit RowLockTable(ConditionHost& host) : host_(host) {}
  RowLockTable(const RowLockTable&) = delete;
  RowLockTable& operator=(const RowLockTable&) = delete;

  // No row is open, and nothing waits.
  bool idle() const { return open_.empty() && behind_.empty(); }
  // Resumes when it is idle.
  Async<void> drained();
  // True when the write waits now; it is kept with a copy of what it views. RESOURCE_EXHAUSTED.
  Result<bool> delay(Write& write);
  Result<bool> delay(ConditionalWrite& write);

  // A conditional write of the row needs time. REQUIRES: the row is not open.
  void open(Bytes row);
  // It is through: submits what waited for it.
  void close(Bytes row);

 private:
  // A plain write with its own copy, or a conditional one.
  struct Waiting {
    Write* write = nullptr;
    ConditionalWrite* conditional = nullptr;
    std::string bytes;
    std::vector<Mutation> mutations;
    std::string start;
    std::string end;
  };
  using Queue = std::deque<std::unique_ptr<Waiting>>;

  static std::unique_ptr<Waiting> copy_of(Write& write);
  static Bytes row_of(const Waiting& waiting);
  bool touches_open_row(const RangeDelete& range) const;
  Queue* queue_for(Bytes row);
  Result<bool> wait_in(Queue& queue, std::unique_ptr<Waiting> waiting);
  bool submit(Waiting& waiting);
  void drain_behind();

  ConditionHost& host_;
  std::map<std::string, Queue, std::less<>> open_;  // by row
  Queue behind_;                                    // the first range delete that waits, and on
  size_t waiting_ = 0;
  ConditionVariable quiet_;
};

}  // namespace cellar::engine
