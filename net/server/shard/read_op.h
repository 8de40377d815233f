// Reads on their way. A ReadOp belongs to the connection's shard and walks the tablets that its row
// set touches, in key order, by the table map as it is when it comes to each. In each it runs
// slices (read_slice.h): plain calls on the shard that serves the tablet, or a message there and
// back. A slice ends with a chunk that is full, with the tablet's end, or after a share of time. So
// a point read whose blocks are in memory is one plain call from frame to reply, and only a read
// that misses a block waits in a coroutine.
//
// A tablet that is gone when its slice comes there (it was split, merged or moved meanwhile) has
// given nothing yet: the read waits until its shard's map is newer than the one it went by, and
// goes on from where it stands. A cursor that is open reads on, whatever becomes of its tablet.
//
// The chunk builder travels with the slice; between slices it is the op's.
//
// A stream that waits (for credit, for its peer to take what was sent, for memory) does no work and
// keeps its cursor only for a while, since a cursor pins memtables, blobs and blocks. Between two
// rows the cursor is let go after kKeepCursorUs, and another one is opened behind the last row when
// the stream goes on: nothing of that is seen outside, for a scan is no snapshot across rows.
// Inside a row it must stay, for a row is read as of one stamp; after kKeepRowUs the stream is
// ended with UNAVAILABLE, and the client resumes it behind the last row that was complete.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "engine/catalog/table_map.h"
#include "io/loop/timers.h"
#include "net/server/limits/memory_queue.h"
#include "net/server/shard/map_wait.h"
#include "net/server/shard/read_plan.h"
#include "net/server/shard/read_slice.h"
#include "net/wire/chunk_builder.h"
#include "net/wire/frame.h"
#include "net/wire/read_codec.h"

namespace cellar::server {

class Session;

using ReadHook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

struct ReadOp final : ReadHook, LaterWork, MapWaiter, MemoryWaiter {
  // A row that is larger than this as returned is refused (SEMANTICS 6).
  static constexpr uint64_t kMaxRowBytes = 256u << 20;
  // How long a waiting stream keeps its cursor: one of few, one of many, and inside a row.
  static constexpr int64_t kKeepCursorUs = 1'000'000;
  static constexpr int64_t kKeepCursorOfManyUs = 10'000;
  static constexpr uint32_t kManyStreams = 32;  // of a shard
  static constexpr int64_t kKeepRowUs = 60'000'000;
  // What a read that is over keeps of its memory for the next.
  static constexpr size_t kKeepBytes = 16 * 1024;

  enum class Waiting : uint8_t { no, credit, output, map, memory };

  ShardServer* home = nullptr;
  Session* session = nullptr;
  wire::FrameHeader header;
  wire::DecodedRead read;

  // What was decoded into `read` is answered from `table`. `single`: ReadRow.
  void begin(ShardServer& shard, Session& of, const wire::FrameHeader& request, TableId table,
             bool is_single);
  void start();

  // ---- from the session; none of them ends the op inside the call ----
  void cancel();
  void abandon();  // nobody listens any more
  void add_credits(uint32_t chunks);
  void output_drained();

  // ---- from the slice; on any shard ----
  bool single() const { return single_; }
  bool is_overdue(int64_t now_us) const { return deadline_us_ != 0 && now_us >= deadline_us_; }
  void count_memory(ShardServer& shard);
  // ---- from the slice, at home ----
  void slice_done();
  void go_on() override;
  void map_wait_over() override;
  NodeMemory::Room take_room(NodeMemory::Turn turn) override;

  wire::ChunkBuilder builder;

 private:
  void run_slice(ReadSlice::Task task);
  void next_tablet();
  void tablet_gone();
  bool must_stop() const;
  void close_cursor();
  void wait_for(Waiting what);
  void arm();
  void wake();
  void ring();
  void waited_long();
  void released();
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
  uint64_t map_version_ = 0;  // that plan_ went by last
  bool single_ = false;
  uint64_t row_limit_ = 0;
  uint32_t credits_ = 0;
  int64_t deadline_us_ = 0;  // on every shard's loop; 0: none
  Waiting waiting_ = Waiting::no;
  int64_t waits_since_us_ = 0;
  bool in_row_ = false;         // that it cannot let go of its cursor is known
  std::optional<Timer> alarm_;  // while it waits: the deadline, or the cursor's time is over
  bool away_ = false;           // the slice runs
  size_t counted_bytes_ = 0;    // of the builder, known to the node's memory
  bool cancelled_ = false;
  bool finishing_ = false;
  bool chunk_sent_ = false;
};

}  // namespace cellar::server
