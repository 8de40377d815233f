// ReadOp: a read in progress. It belongs to the connection's shard and visits the tablets of its
// row set in key order, each according to the table map at that time. In a tablet it runs slices
// (read_slice.h): plain calls on the shard that serves the tablet, or a message there and back. A
// slice ends with a full chunk, the end of the tablet, or its time limit. A point read with blocks
// in memory is one plain call from frame to reply; only a read that misses a block waits in a
// coroutine.
//
// If a slice finds its tablet gone (split, merged or moved) or held by a change of rules, nothing
// of it has been read yet: the read waits for a newer table map on its shard and continues from its
// place. An open cursor remains valid whatever happens to its tablet; between two rows it is opened
// again if the table was altered or the tablet is gone, so that each row is read by the rules in
// force.
//
// The chunk builder travels with the slice; between slices it belongs to the op.
//
// A stream that waits (for credit, for its peer to read, for memory) does no work and keeps its
// cursor only briefly, because a cursor pins memtables, blobs and blocks. Between two rows the
// cursor is closed after kKeepCursorUs and reopened after the last row when the stream continues;
// clients cannot observe this, because a scan is not a snapshot across rows. Inside a row the
// cursor must stay, because a row is read as of one timestamp; after kKeepRowUs the stream ends
// with UNAVAILABLE, and the client resumes after the last complete row.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/catalog/table_map.h"
#include "io/loop/timers.h"
#include "net/server/limits/memory_queue.h"
#include "net/server/shard/map_wait.h"
#include "net/server/shard/read_plan.h"
#include "net/server/shard/read_slice.h"
#include "net/server/shard/session_read.h"
#include "net/wire/chunk_builder.h"
#include "net/wire/frame.h"
#include "net/wire/read_codec.h"

namespace cellar::server {

class Session;

struct ReadOp final : SessionRead, DeferredTask, MapWaiter, MemoryWaiter {
  // Larger rows, as returned, are refused (SEMANTICS 6).
  static constexpr uint64_t kMaxRowBytes = 256u << 20;
  // How long a waiting stream keeps its cursor: with few streams, with many, and inside a row.
  static constexpr int64_t kKeepCursorUs = 1'000'000;
  static constexpr int64_t kKeepCursorOfManyUs = 10'000;
  static constexpr uint32_t kManyStreams = 32;  // per shard
  static constexpr int64_t kKeepRowUs = 60'000'000;
  // Memory that a finished read keeps for the next one.
  static constexpr size_t kKeepBytes = 16 * 1024;

  enum class Waiting : uint8_t { no, credit, output, map, memory };

  ShardServer* home = nullptr;
  Session* session = nullptr;
  wire::DecodedRead read;

  // Answers the decoded request in `read` from `table`. `single`: ReadRow.
  void begin(ShardServer& shard, Session& of, const wire::FrameHeader& request, TableId table,
             bool is_single);
  void start();

  // ---- called by the session
  void cancel() override;
  void abandon() override;
  void add_credits(uint32_t chunks) override;
  void output_drained() override;

  // ---- called by the slice, on any shard ----
  bool single() const { return single_; }
  bool chunk_sent() const { return chunk_sent_; }
  bool is_overdue(int64_t now_us) const { return deadline_us_ != 0 && now_us >= deadline_us_; }
  void count_memory(ShardServer& shard);
  // ---- called by the slice, on the home shard ----
  void slice_done();
  void go_on() override;
  void map_wait_over() override;
  NodeMemory::Room take_room(NodeMemory::Turn turn) override;

  wire::ChunkBuilder builder;

 private:
  void run_slice(ReadSlice::Task task);
  Async<void> send_when_timely();
  void next_tablet();
  void tablet_gone();
  bool must_stop() const;
  void close_cursor();
  void wait_for(Waiting what);
  void arm();
  void wake();
  void on_alarm();
  void waited_long();
  int64_t forgotten_us() const;
  void released();
  void pass_last_row();
  bool is_served() const;
  void join_memory_queue();
  void send_chunk();
  void proceed();
  void finish();
  void fail_with(const Error& error);
  void release();
  Error stop_reason() const;

  ReadSlice slice_;
  TableId table_;
  ReadPlan plan_;
  uint64_t map_version_ = 0;  // version last used by plan_
  bool single_ = false;
  uint64_t row_limit_ = 0;
  uint32_t credits_ = 0;
  int64_t deadline_us_ = 0;  // valid on every shard's loop; 0: none
  Waiting waiting_ = Waiting::no;
  int64_t waits_since_us_ = 0;
  bool in_row_ = false;         // known to be inside a row, so the cursor must stay
  std::optional<Timer> alarm_;  // while waiting: the deadline or the end of the cursor's time
  bool away_ = false;           // a slice is running
  size_t counted_bytes_ = 0;    // builder bytes counted in the node's memory
  bool cancelled_ = false;
  bool finishing_ = false;
  bool chunk_sent_ = false;
};

}  // namespace cellar::server
