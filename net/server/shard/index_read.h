// IndexRead: a read through an index in progress, on the shard of its connection. It has a cursor
// in every tablet that holds rows of the read (index_tablet.h), each on the shard of its tablet,
// and merges what they find (index_merge.h) into chunks: each hit is a row of them.
//
// All cursors are opened, some at a time, and each has given its first batch, before the first
// chunk is sent. A tablet whose cursor has nothing left in memory and holds up the merge gives its
// next batch; the others wait meanwhile. So the read holds at most one batch of each tablet.
//
// A tablet that is gone or was altered: the read waits for a newer table map on its shard and
// resumes, behind the last position of that tablet, with those that now hold its rows.
//
// A stream that waits (for credit, for its peer to read, for memory) keeps its cursors and batches
// for as long as a ReadOp keeps its cursor. It then releases them, and each tablet resumes behind
// the last position that was sent or that it has passed without a hit: the read neither pins memory
// nor returns what has died meanwhile. A hit that was begun stays: it owns its bytes, which are
// counted.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "io/loop/event.h"
#include "io/loop/timers.h"
#include "net/server/limits/memory_queue.h"
#include "net/server/shard/index_merge.h"
#include "net/server/shard/index_tablet.h"
#include "net/server/shard/map_wait.h"
#include "net/server/shard/session_read.h"
#include "net/wire/chunk_builder.h"
#include "net/wire/index_codec.h"
#include "net/wire/status.h"

namespace cellar::server {

class Session;
class ShardServer;

class IndexRead final : public SessionRead, private MapWaiter, private MemoryWaiter {
 public:
  // Memory of the batches of all tablets together, and the least of one.
  static constexpr size_t kBatchBytes = 256 * 1024;
  static constexpr size_t kLeastBatchBytes = 4 * 1024;
  // The first batches are smaller: many reads need no second one.
  static constexpr size_t kFirstBatchBytes = 64 * 1024;
  static constexpr size_t kBatchHits = 256;
  static constexpr size_t kTabletsAtOnce = 64;
  // Each tablet's cursor has the bounds of the read: of all tablets together, so many bytes.
  static constexpr size_t kMaxBoundsBytes = 64u << 20;

  struct Request {
    wire::FrameHeader header;
    TableId table;
    std::string table_name;
    uint64_t index = 0;           // IndexSchema::id
    wire::DecodedIndexRead read;  // with the filter in its spec
  };

  // Answers the request, now or later. It has begun a scan of the shard's admission.
  static void begin(ShardServer& home, Session& session, Request request);

  IndexRead(ShardServer& home, Session& session, Request request);
  ~IndexRead();

  // ---- called by the session
  void cancel() override;
  void abandon() override { cancel(); }
  void add_credits(uint32_t chunks) override;
  void output_drained() override { changed_.notify_all(); }

  // ---- called by its tablets, on any shard
  ShardServer& home() const { return home_; }
  // Without rows.
  const IndexReadSpec& spec() const { return spec_; }
  bool is_overdue(int64_t now_us) const { return deadline_us_ != 0 && now_us >= deadline_us_; }
  // ---- on the home shard
  void came_back();

 private:
  enum class Fill : uint8_t { full, dry, ended, too_large };
  enum class Waiting : uint8_t { client, memory };

  Async<void> run();
  Async<Result<void>> answer();
  Result<void> enter_tablets();
  Async<void> leave_cursors();
  Async<void> release_tablets();
  bool has_cursors() const;
  Result<void> add_tablets(const engine::TableEntry& table, const RowSet& rows,
                           const std::string& after);
  Result<const engine::TableEntry*> find_table() const;

  Fill fill_chunk();
  void take_hit();
  bool put_hit();
  bool is_complete() const;
  void send_chunk();
  void finish();

  Async<Result<void>> fetch();
  void start(std::vector<IndexSource*>& wanted);
  engine::IndexBatchLimits batch_limits(const IndexTablet& tablet) const;
  Async<Result<void>> take_in(const std::vector<IndexSource*>& fetched);
  Async<Result<void>> follow(const std::vector<IndexTablet*>& gone);
  Async<Result<void>> wait_for_map(const std::vector<IndexTablet*>& gone);
  Async<Result<void>> check_ready();

  Async<Result<void>> wait_for(Waiting what);
  bool is_served(Waiting what) const;
  Result<void> check_patience(Waiting what, int64_t waited_us) const;
  int64_t keep_us() const;
  int64_t forgotten_us(Waiting what) const;
  int64_t patience_us(Waiting what, bool left) const;
  Result<void> check_wanted() const;
  void arm(int64_t until_us);
  void hold(IndexTablet& tablet, size_t bytes);
  void count();
  void map_wait_over() override { changed_.notify_all(); }
  NodeMemory::Room take_room(NodeMemory::Turn turn) override;

  ShardServer& home_;
  Session& session_;
  const TableId table_;
  const std::string table_name_;
  const uint64_t index_;
  RowSet rows_;  // until the tablets are entered
  IndexReadSpec spec_;
  const uint64_t limit_;  // 0: none
  const int64_t deadline_us_;
  uint32_t credits_;

  std::vector<std::unique_ptr<IndexTablet>> tablets_;
  IndexMerge merge_;
  size_t away_ = 0;                       // tablets at work
  size_t batch_bytes_ = 0;                // held by all tablets
  size_t hit_bytes_ = 0;                  // by hit_
  size_t counted_bytes_ = 0;              // in the node's memory
  std::optional<wire::TabletHint> hint_;  // sent with the error

  wire::ChunkBuilder builder_;
  engine::IndexHit hit_;  // the one that is being written
  size_t cell_ = 0;       // of it, the next
  bool in_hit_ = false;
  std::string reached_;     // position of the last complete hit, or that the client has named
  uint64_t rows_sent_ = 0;  // in complete chunks
  bool cancelled_ = false;
  ConditionVariable changed_;
  Timer alarm_;
};

}  // namespace cellar::server
