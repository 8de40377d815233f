// Reads on their way. A ReadOp belongs to the connection's shard and walks the tablets that its row
// set touches, in key order. In each it runs slices: a ReadSlice is a plain call on the shard that
// serves the tablet, or a message there and back, and ends with a chunk that is full, with the
// tablet's end, or after a share of time. So a point read whose blocks are in memory is one plain
// call from frame to reply, and only a read that misses a block waits in a coroutine.
//
// The cursor is opened and destroyed on the tablet's shard. The chunk builder travels with the
// slice; between slices it is the op's.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <boost/intrusive/list.hpp>

#include "engine/engine.h"
#include "engine/read/scan.h"
#include "engine/table_map.h"
#include "io/runtime/mailbox.h"
#include "net/wire/chunk_builder.h"
#include "net/wire/frame.h"
#include "net/wire/read_codec.h"

namespace cellar::server {

class Session;
class ShardServer;
struct ReadOp;

// Something that goes on in a later turn of the loop it is queued on.
class LaterWork {
 public:
  virtual void go_on() = 0;

 protected:
  ~LaterWork() = default;
};

struct ReadSlice final : MailboxMessage, LaterWork {
  // Yields on another shard until the op at home is asked whether anybody still listens.
  static constexpr uint32_t kYieldsAway = 16;

  ReadOp* op = nullptr;
  ShardServer* server = nullptr;  // of the shard that serves the tablet
  TabletId tablet;
  Epoch epoch;
  bool abandon = false;  // destroy the cursor instead of reading

  std::unique_ptr<engine::ScanCursor> cursor;
  engine::ScanStep step = engine::ScanStep::done;
  std::optional<Error> error;  // with ScanStep::failed
  uint32_t yields = 0;

  void go_on() override;  // on the tablet's shard

 private:
  void end(engine::ScanStep how);
  static Async<void> load_and_go_on(ReadSlice& slice);
};

using ReadHook =
    boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

struct ReadOp final : ReadHook, LaterWork {
  // A row that is larger than this as returned is refused (SEMANTICS 6).
  static constexpr uint64_t kMaxRowBytes = 256u << 20;

  struct Target {
    TabletId tablet;
    Epoch epoch;
    ShardId shard;
  };
  enum class Waiting : uint8_t { no, credit, output };

  ShardServer* home = nullptr;
  Session* session = nullptr;
  wire::FrameHeader header;
  wire::DecodedRead read;
  std::vector<Target> targets;
  size_t at = 0;

  // What was decoded into `read` is answered from `targets`. `single`: ReadRow.
  void begin(ShardServer& shard, Session& of, const wire::FrameHeader& request, bool is_single);
  void start();

  // ---- from the session; none of them ends the op inside the call ----
  void cancel();
  void abandon();  // nobody listens any more
  void add_credits(uint32_t chunks);
  void output_drained();
  void check_deadline();

  // ---- from the slice, at home ----
  void slice_done();
  void go_on() override;

  wire::ChunkBuilder builder;

 private:
  void run_slice();
  void next_tablet();
  bool must_stop() const;
  void close_cursor();
  void wake();
  void send_chunk();
  void proceed();
  void finish();
  void fail_with(const Error& error);
  void release();
  Error stop_reason() const;

  ReadSlice slice_;
  bool single_ = false;
  uint64_t row_limit_ = 0;
  uint32_t credits_ = 0;
  int64_t deadline_us_ = 0;  // on the home loop; 0: none
  Waiting waiting_ = Waiting::no;
  bool cancelled_ = false;
  bool finishing_ = false;
  bool chunk_sent_ = false;
};

}  // namespace cellar::server
