// GroupCommit: many appends, few durable writes, acknowledgements in order.
//
// An append is copied at once into the open batch, a buffer that becomes one direct, durable write.
// There is no commit timer: at the end of the loop turn the open batch is sealed and submitted if
// somebody waits for it and no write is under way, or if it has grown to kLargeBatchBytes and one
// of kWritesInFlight slots is free; else it goes on filling. So the batch grows with the load by
// itself: alone, an append is one 4 KiB write; under load hundreds share one; and where one write
// at a time does not carry what comes, there are several.
//
//   append A, B (sync)  --> [open batch A B]         end of turn: sealed, submitted as write 1
//   append C (sync)     --> [open batch C]           waits for write 1
//   append D (memory)   --> [open batch C D]
//   append E (1 MiB)    --> [C D E...] [...E]        large: writes 2 and 3, while 1 is under way
//   writes 2 and 3 complete, 1 does not: nobody is told anything
//   write 1 completes: done is called for A, B, C, D, E, in this order
//
// Invariants
//   1. Positions are handed out in append order and batches are written at the position they were
//      opened at; no byte of the log is ever written twice.
//   2. durable_end_ is the end of the longest run of completed writes without a gap, counted from
//      the beginning. It never falls.
//   3. waiting_ holds appends in append order. Its head leaves when its level is reached: sync when
//      durable_end_ has passed it; periodic and memory at once. Nobody overtakes, so a done append
//      implies that every earlier one is done. What waits for the disk on behalf of the log itself
//      (a trim, a seal, a flush) stands in a list of its own: an append behind it does not wait for
//      it, but it waits for every append before it.
//   4. Every record carries a durable mark <= durable_end_ at that moment. When writing comes to
//      rest, a record with a mark >= the end of the last data follows within kClosingMarkUs, so
//      that damage to acknowledged bytes can be told from a torn tail.
//   5. The first failed write poisons: failure_ is set, everything in waiting_ fails at once, and
//      no write is ever submitted again. What earlier writes still complete is of no interest.
//
// Serial parts: all of it runs on one loop. pump() is the only coroutine; completions and append()
// only change state and wake it, which is what moves submission to the end of the turn.
#pragma once

#include <array>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "engine/record/record.h"
#include "engine/store/full_write.h"
#include "engine/store/log_segments.h"
#include "engine/store/log_store.h"

namespace cellar::engine {

// One shard. REQUIRES before it is destroyed: start() was not called, or stop() has returned, or
// the loop runs no more.
class GroupCommit {
 public:
  GroupCommit(LogSegments& segments, Runtime& runtime, LogId log, const LogOptions& options);

  void start();
  // The log will be stopped soon: what waits for a segment that cannot be prepared now fails
  // instead of waiting for space.
  void give_up_waiting_for_space();
  // Waits for the writes in flight and ends pump(). What is still open is not written.
  Async<void> stop();

  // Copies one entry, cut into fragments where it must be, and queues `waiter`.
  // RESOURCE_EXHAUSTED and UNAVAILABLE as in Log::append.
  Result<void> append(Bytes head, Bytes body, LogAppend& waiter);
  // Adds a record that is no entry; `waiter` is done when it is on disk (or the log is poisoned),
  // after every append before it. Appends behind it do not wait for it.
  void append_control(RecordType type, Bytes payload, LogAppend& waiter);
  // Adds kFillBytes that say nothing, or what is left of the segment; `waiter` as above.
  void append_filler(LogAppend& waiter);
  // Resumes when everything so far is on disk.
  Async<Result<void>> flush();

  uint64_t end() const { return appended_end_; }
  // What is appended next does not begin before.
  uint64_t next_begin() const;
  uint64_t durable_end() const { return durable_end_; }
  const Error* failure() const { return failure_ ? &*failure_ : nullptr; }

 private:
  struct Batch {
    BatchBuilder bytes;
    uint64_t mark = 0;  // greatest durable mark in it
    bool has_data = false;
  };
  struct Write : FullWrite {
    GroupCommit* owner = nullptr;
    BatchBuilder batch;
    bool completed = false;
  };

  // In the order of their ends.
  struct Waiting {
    LogAppend* first = nullptr;
    LogAppend* last = nullptr;

    void push(LogAppend& append);
    LogAppend& pop();
  };

  Result<void> admit(size_t bytes) const;
  void add_record(RecordType type, Bytes head, Bytes body);
  void open_batch();
  void seal_batch();
  void enqueue(Waiting& list, LogAppend& waiter);
  Async<void> pump();
  void turn();
  void settle_waiting();
  void settle(Waiting& list);
  bool wants_write() const {
    return open_ && force_ && (writes_ == 0 || open_->bytes.used() >= kLargeBatchBytes);
  }
  bool submit_next();
  static void on_write(FullWrite& write);
  void retire_completed();
  void poison(Error cause);
  bool owes_mark() const { return marked_ < data_end_; }
  void write_closing_mark();
  bool idle() const { return writes_ == 0 && sealed_.empty(); }

  LogSegments& segments_;
  const LogOptions options_;
  const uint64_t owner_;
  ShardExecutor executor_;

  // The open batch, and those that wait for a slot.
  std::optional<Batch> open_;
  std::deque<Batch> sealed_;
  std::vector<AlignedBuffer> pool_;
  uint64_t next_position_ = kIoAlignment;  // of the next batch
  uint64_t appended_end_ = 0;              // of the last record
  bool force_ = false;                     // the open batch goes out though nobody waits

  // Writes under way, oldest first: writes_ of them, from first_write_ on.
  std::array<Write, kWritesInFlight> ring_;
  size_t first_write_ = 0;
  size_t writes_ = 0;

  uint64_t durable_end_ = 0;
  uint64_t data_end_ = 0;  // of the last batch with more than marks that was submitted
  uint64_t marked_ = 0;    // greatest durable mark that was submitted

  Waiting waiting_;
  Waiting controls_;  // what is no append; see 3.
  std::optional<Error> failure_;

  Event work_;
  Event quiet_;  // pump() has ended
  bool stopping_ = false;
  bool impatient_ = false;
  Timer periodic_;
  Timer closing_mark_;
};

}  // namespace cellar::engine
