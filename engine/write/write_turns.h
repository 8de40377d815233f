// WriteTurns: the writes of a shard that have found the log's queue full, and wait for their turn.
//
// The log copies what is appended and holds it until it is on disk. Its queue is full while more
// than kQueueBytes wait for the disk. A write that arrives then, or while another write of its
// tablet waits, waits here with a copy of what it views. Whenever the queue has room, the tablets
// that have waiting writes submit one each, in turns; a tablet's own writes are submitted in the
// order of arrival. A tablet with few writes thus waits for one write of each other tablet, however
// many the others have.
//
// Invariants
//   1. While a tablet has a waiting write, every write that arrives for it waits behind that one.
//   2. A waiting write has no stamp, and is in neither the log nor a memtable. When its turn comes
//      it is validated again, and may find its tablet changed or gone.
//   3. A wait ends: the log makes progress, or has failed (the writes are submitted, and refused
//      with its error), or stands still for kStillUs (the writes are refused as overload).
//
// Bounded: more than kMaxTurns writes, or than kMaxTurnBytes of copies, are refused, and so
// are copies for which the memtables, their next place, have no room. Commits of writes that began
// before (conditional writes that loaded blocks, writes that waited for a row) do not wait; for
// them the log's own bound is higher than kQueueBytes (log_options.h).
//
// Example: 24 MiB wait for the disk. Three writes A1, A2 and B1, of tablets A and B, wait. When 15
// MiB are left A1 is appended, 23 MiB wait; the next turn is that of B1, then that of A2.
#pragma once

#include <deque>
#include <functional>
#include <memory>

#include "engine/write/flow_control.h"
#include "engine/write/waiting_write.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"

namespace cellar::engine {

// Submits writes whose turn has come.
class TurnHost {
 public:
  virtual ~TurnHost() = default;
  // Takes the write: answers it, or keeps a copy of its own.
  virtual void take_turn(Write& write) = 0;
  virtual void take_turn(ConditionalWrite& write) = 0;
  // Answers the write with this error, without a turn.
  virtual void refuse_turn(Write& write, Error error) = 0;
};

// Owned by one shard.
class WriteTurns {
 public:
  static constexpr size_t kMaxTurns = 10'000;
  static constexpr size_t kMaxTurnBytes = 128u << 20;  // one write alone may have more
  // The log's queue is full above this.
  static constexpr uint64_t kQueueBytes = 16u << 20;
  // A log without any progress for this time stands still.
  static constexpr int64_t kStillUs = 5'000'000;

  // The waiting writes of one tablet. Owned by the tablet; must not outlive the WriteTurns.
  class Line {
   public:
    Line(WriteTurns& turns, TurnHost& host) : turns_(turns), host_(host) {}
    // Does not access the writes: after a crash of a simulated machine they may have been freed.
    ~Line();
    Line(const Line&) = delete;
    Line& operator=(const Line&) = delete;

    // True: the write waits here. False: it need not wait. RESOURCE_EXHAUSTED.
    Result<bool> delay(Write& write);
    Result<bool> delay(ConditionalWrite& write);
    bool empty() const { return writes_.empty() && !submits_; }
    // Resumes when it is empty.
    Async<void> drained();

   private:
    friend class WriteTurns;
    bool must_wait() const { return !empty() || turns_.queue_is_full(); }
    void push(std::unique_ptr<WaitingWrite> write);
    std::unique_ptr<WaitingWrite> pop();

    WriteTurns& turns_;
    TurnHost& host_;
    std::deque<std::unique_ptr<WaitingWrite>> writes_;
    bool submits_ = false;  // one has left writes_ and is not yet submitted
    ConditionVariable quiet_;
  };

  explicit WriteTurns(Timers& timers)
      : timers_(timers),
        alarm_(timers, [](void* self) { static_cast<WriteTurns*>(self)->tick(); }, this) {}
  WriteTurns(const WriteTurns&) = delete;
  WriteTurns& operator=(const WriteTurns&) = delete;

  // Sets the source of the levels; without it nothing waits.
  void watch(std::function<FlowLevels()> levels) { levels_ = std::move(levels); }

  size_t waiting() const { return waiting_; }
  size_t waiting_bytes() const { return waiting_bytes_; }
  uint64_t delayed() const { return delayed_; }  // number of writes that had to wait

 private:
  bool queue_is_full() const;
  static bool is_full(const FlowLevels& levels);
  Result<void> check_room(size_t bytes) const;
  Error refusal(const FlowLevels& levels) const;
  void tick();
  void submit_next();
  void refuse_all(const FlowLevels& levels);
  bool stands_still() const;

  Timers& timers_;
  Timer alarm_;
  std::function<FlowLevels()> levels_;
  std::deque<Line*> lines_;  // that have waiting writes, in the order of their turns
  size_t waiting_ = 0;
  size_t waiting_bytes_ = 0;
  uint64_t delayed_ = 0;
  uint64_t durable_end_ = 0;  // of the log, at the last tick
  int64_t moved_us_ = 0;      // when the log was last seen to make progress
};

}  // namespace cellar::engine
