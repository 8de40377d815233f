// GroupCommit: combines appends into few durable writes and acknowledges them in order.
//
// An append is copied at once into the open batch, a buffer that becomes one direct, durable write.
// There is no commit timer: the open batch is written at the end of a loop turn, from the loop's
// hook, if an append waits for it and
//
//   - no write is in flight, or
//   - it has grown to kLargeBatchBytes and one of kWritesInFlight slots is free, or
//   - fewer writes than depth_.limit() are in flight, and its appends are at least that part of
//     those in flight: with a limit of 4 and 40 appends in flight it is written from 10 on.
//
// Otherwise it continues to fill. The batch size thus adapts to the load: a single append is one
// 4 KiB write, and under load each of a few overlapping writes carries its part of the appends that
// arrive within the time of one.
//
//   append A, B (sync)  --> [open batch A B]         end of turn: sealed, submitted as write 1
//   append C (sync)     --> [open batch C]           half of A and B: submitted as write 2
//   append D (memory)   --> [open batch D]           waits
//   append E (1 MiB)    --> [D E...] [...E]          large: writes 3 and 4
//   writes 2, 3 and 4 complete, 1 does not: done is called for no append
//   write 1 completes: done is called for A, B, C, D, E, in this order
//
// Invariants
//   1. Positions are assigned in append order, and batches are written at the position at which
//      they were opened; no byte of the log is written twice.
//   2. durable_end_ is the end of the longest run of completed writes without a gap, counted from
//      the beginning. It never decreases.
//   3. waiting_ holds appends in append order. Its head leaves when its level is reached: sync when
//      durable_end_ has passed it; periodic and memory at once. There is no overtaking, so a done
//      append implies that every earlier one is done. Internal waits for the disk (a trim, a seal,
//      a flush) are in a separate list: a later append does not wait for them, but they wait for
//      every earlier append.
//   4. Every record carries a durable mark <= durable_end_ at that moment. When writing stops, a
//      record with a mark >= the end of the last data follows within kClosingMarkUs, so that
//      damage to acknowledged bytes can be told from a torn tail. A batch that is written while an
//      earlier one is in flight has no mark beyond the earlier one's beginning: if a crash tears
//      the earlier one and leaves the later one whole, a reader discards both as a torn tail.
//   5. The first failed write poisons the log: failure_ is set, everything in waiting_ fails, and
//      no further write is submitted. Later completions are ignored.
//
// Everything runs on one loop. Completions and append() only change state; the hook submits.
#pragma once

#include <array>
#include <deque>
#include <optional>
#include <vector>

#include "engine/record/record.h"
#include "engine/store/commit/log_sink.h"
#include "engine/store/commit/write_depth.h"
#include "engine/store/log_options.h"
#include "engine/store/log_store.h"
#include "io/loop/event.h"
#include "io/loop/loop.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

// One shard. REQUIRES for destruction: start() was not called, stop() has returned, or the loop has
// ended.
class GroupCommit : private LoopHook {
 public:
  // `sink` and `runtime` must outlive it.
  GroupCommit(LogSink& sink, Runtime& runtime, LogId log, const LogOptions& options);

  void start();
  // The log will be stopped soon: appends that wait for a segment that cannot be prepared now fail.
  void give_up_waiting_for_space();
  // Waits for the writes in flight and removes the hook. The open batch is not written.
  Async<void> stop();

  // Copies one entry, split into fragments if necessary, and queues `waiter`. RESOURCE_EXHAUSTED
  // and UNAVAILABLE as in Log::append.
  Result<void> append(Bytes head, Bytes body, LogAppend& waiter);
  // Adds a control record; `waiter` is done when it is on disk (or the log is poisoned), after
  // every earlier append. Later appends do not wait for it.
  void append_control(RecordType type, Bytes payload, LogAppend& waiter);
  // Adds kFillBytes of filler, or fills the rest of the segment; `waiter` as above.
  void append_filler(LogAppend& waiter);
  // Resumes when everything appended so far is on disk.
  Async<Result<void>> flush();

  uint64_t end() const { return appended_end_; }
  // A lower bound of the position of the next append.
  uint64_t next_begin() const;
  uint64_t durable_end() const { return durable_end_; }
  const Error* failure() const { return failure_ ? &*failure_ : nullptr; }

 private:
  struct Batch {
    BatchBuilder bytes;
    uint64_t mark = 0;  // greatest durable mark in it
    bool has_data = false;
    size_t waiting = 0;  // appends that wait for it
    uint32_t depth = 0;  // WriteDepth::begin()
    int64_t opened_us = 0;
  };
  struct Write : SinkWrite {
    GroupCommit* owner = nullptr;
    BatchBuilder batch;
    bool completed = false;
    size_t waiting = 0;
    uint32_t depth = 0;
    int64_t filled_us = 0;
    int64_t began_us = 0;
  };

  // Sorted by their ends.
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
  void wake() { due_ = true; }
  bool on_turn() override;
  bool may_sleep() override { return !due_; }
  void complete_waiting();
  void complete(Waiting& list);
  bool wants_write() const;
  bool submit_next();
  static void on_write(SinkWrite& write);
  void retire_completed();
  void poison(Error cause);
  bool owes_mark() const { return marked_ < data_end_; }
  void write_closing_mark();
  bool idle() const { return writes_ == 0 && sealed_.empty(); }

  LogSink& sink_;
  const LogOptions options_;
  const uint64_t owner_;
  const ShardExecutor executor_;
  Timers& timers_;
  Loop* loop_ = nullptr;  // while the hook is there
  bool due_ = false;      // the hook has work

  // The open batch, and the sealed ones that wait for a slot.
  std::optional<Batch> open_;
  std::deque<Batch> sealed_;
  std::vector<AlignedBuffer> pool_;
  uint64_t next_position_;     // of the next batch
  uint64_t appended_end_ = 0;  // of the last record
  bool force_ = false;         // the open batch is written even if no append waits for it

  // Writes in flight, oldest first: writes_ of them, starting at first_write_.
  std::array<Write, kWritesInFlight> ring_;
  size_t first_write_ = 0;
  size_t writes_ = 0;
  size_t in_flight_ = 0;  // appends that wait for them
  WriteDepth depth_;

  uint64_t durable_end_ = 0;
  uint64_t data_end_ = 0;  // end of the last submitted batch with more than marks
  uint64_t marked_ = 0;    // greatest durable mark submitted

  Waiting waiting_;
  Waiting controls_;  // control records; see invariant 3
  std::optional<Error> failure_;

  ConditionVariable quiet_;  // the last write has completed
  bool stopping_ = false;
  bool impatient_ = false;
  Timer periodic_;
  Timer closing_mark_;
};

}  // namespace cellar::engine
