// TestNode: a whole node in memory, on simulated time, for short tests.
//
//   TestNode node({.shards = 2, .seed = 7});
//   ASSERT_TRUE(node.create_table("t", {"f"}, {"m"}));
//   ASSERT_TRUE(node.set("t", "row", "f:q", 5, "value"));
//   node.crash(CrashPolicy::random_subset);
//   ASSERT_TRUE(node.reopen());
//   EXPECT_EQ(node.cells("t"), ...);
//
// Calls look synchronous: each runs the simulated world until its answer is there. begin_write()
// and world() are for tests of the time in between. The disk and the clock outlive crashes and
// reopenings.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/index_scan.h"
#include "engine/node.h"
#include "engine/store/local/local_stores.h"
#include "io/loop/shard.h"
#include "io/sim/manual_clock.h"
#include "io/sim/mem_disk.h"
#include "io/sim/mem_fs.h"
#include "io/sim/sim_loop.h"
#include "tests/support/row_model.h"

namespace cellar::support {

class TestNode;

struct TestNodeOptions {
  uint32_t shards = 1;
  uint64_t seed = 1;
  engine::EngineOptions engine;
  engine::LogOptions log;
  // Wraps each shard's file system, for faults; the result must keep `inner` alive.
  std::function<std::unique_ptr<FileSystem>(std::unique_ptr<FileSystem> inner, MemDisk& disk,
                                            SimLoop& loop)>
      wrap;
  // Wraps each shard's blob store.
  std::function<std::unique_ptr<engine::BlobStore>(std::unique_ptr<engine::BlobStore>,
                                                   ShardExecutor)>
      wrap_blobs;
  // Wraps the manifest store.
  std::function<std::unique_ptr<engine::ManifestStore>(std::unique_ptr<engine::ManifestStore>)>
      wrap_manifest;
  // Called between any two rounds of the world, whatever the node is doing: for crash images in the
  // middle of work.
  std::function<void(TestNode&)> on_round;
  HugeChunks* chunks = nullptr;  // for memtables; outlives the node
  int64_t start_wall_us = 0;     // of the clock; 0: SimWorld's own
  // Completions of one turn are delivered in an order drawn from the seed.
  bool shuffle_io = true;
  // Latency of every disk operation.
  int64_t min_latency_us = 0;
  int64_t max_latency_us = 0;

  TestNodeOptions();  // a small engine: 64 KiB memtables, 64 KiB log segments
};

// A write in progress, with its bytes.
struct PendingWrite {
  engine::Write write;
  std::string row;
  std::vector<OwnedMutation> ops;
  std::vector<Mutation> views;
  std::string range_start;
  std::string range_end;
  bool finished = false;
  bool acked() const { return finished && !write.error; }
};

// A conditional write in progress, with its bytes: fill in its fields, then call TestNode::begin().
struct PendingConditional {
  engine::ConditionalWrite write;
  std::string row;
  std::vector<OwnedMutation> then_ops, else_ops;
  std::vector<Mutation> then_views, else_views;
  std::vector<std::string> words;  // viewed by `rules`
  std::vector<ModifyRule> rules;
  bool finished = false;
};

// A cell with its explanation.
struct NotedCell {
  OwnedCell cell;
  CellNote note;
};

OwnedMutation set_cell(std::string column, int64_t timestamp_us, std::string value);
OwnedMutation delete_row();
OwnedMutation delete_family(std::string family);
OwnedMutation delete_column(std::string column, int64_t start_us = 0,
                            int64_t end_us = kMaxTimestampUs);

class TestNode {
 public:
  // Opens the node; a failure is kept for open_error().
  explicit TestNode(TestNodeOptions options = {});
  // On a disk that a test has prepared.
  TestNode(TestNodeOptions options, std::unique_ptr<MemDisk> disk);
  ~TestNode();
  TestNode(const TestNode&) = delete;
  TestNode& operator=(const TestNode&) = delete;

  // ---- lifetime ----
  Result<void> reopen();                 // after close(), crash() or kill()
  Result<void> reopen(uint32_t shards);  // with another number of shards
  Result<void> close();                  // an orderly end
  void crash(CrashPolicy policy);        // the power fails
  void kill();                           // kill -9: data that the kernel has accepted stays
  // The disk as a power failure now would leave it; the node continues.
  std::unique_ptr<MemDisk> crash_image(CrashPolicy policy);
  bool is_open() const;
  const std::optional<Error>& open_error() const { return open_error_; }

  // ---- tables ----
  Result<engine::TableEntry> create_table(std::string name, std::vector<std::string> families,
                                          std::vector<std::string> splits = {},
                                          TableOptions options = {},
                                          Granularity granularity = Granularity::micros);
  Result<engine::TableEntry> create_table(engine::TableSpec spec);
  Result<engine::TableEntry> alter_table(engine::TableChange change);
  Result<engine::TableEntry> undo_rule(engine::RuleUndo undo);
  Result<engine::PreviewReport> preview(engine::PreviewRequest request);
  Result<void> drop_table(std::string name);
  Result<engine::TableEntry> restore_table(std::string name);
  std::vector<engine::DroppedTable> dropped_tables();
  engine::AuditPage audit_log(engine::AuditQuery query = {});
  engine::Author author{"test", "memory"};  // of the changes above
  Result<engine::IndexStates> index_states(std::string table);
  Result<void> flush(std::string table);
  Result<std::vector<engine::TabletDescriptor>> split(TabletId tablet, std::string row = "");
  Result<engine::TabletDescriptor> merge(TabletId left, TabletId right);
  Result<engine::TabletDescriptor> move(TabletId tablet, uint32_t to);
  std::vector<engine::TabletFigures> figures(std::string table);
  Result<void> compact(std::string table);

  // ---- writing: the commit stamp, once acknowledged ----
  Result<CommitStamp> write(const std::string& table, std::string row,
                            std::vector<OwnedMutation> ops,
                            std::optional<Durability> level = std::nullopt);
  Result<CommitStamp> set(const std::string& table, std::string row, std::string column,
                          int64_t timestamp_us, std::string value);
  // In every tablet that the range touches.
  Result<void> drop_rows(const std::string& table, std::string start, std::string end);
  // Submits a write; `finished` is set when the answer comes (perhaps before this returns).
  std::unique_ptr<PendingWrite> begin_write(const std::string& table, std::string row,
                                            std::vector<OwnedMutation> ops,
                                            std::optional<Durability> level = std::nullopt);
  // `token` must outlive the write; null: none.
  std::unique_ptr<PendingWrite> begin_drop_rows(const engine::TabletDescriptor& tablet,
                                                std::string start, std::string end,
                                                const WriteToken* token = nullptr);
  void begin(PendingConditional& pending, const std::string& table, std::string row);
  void wait(const PendingWrite& write);  // until finished
  void wait(const PendingConditional& write);

  // ---- reading ----
  Result<std::vector<OwnedCell>> read(const std::string& table, const ReadSpec& spec);
  Result<std::vector<NotedCell>> read_noted(const std::string& table, const ReadSpec& spec);
  Result<std::vector<OwnedCell>> read_row(const std::string& table, const std::string& row);
  // Through an index, over all tablets, in its order. `batch`: hits at a time; with `resume` the
  // scan is opened again behind each batch.
  Result<std::vector<engine::IndexHit>> read_index(const std::string& table, IndexReadSpec spec,
                                                   size_t batch = 256, bool resume = false);
  // Everything; a failed read fails the test.
  std::vector<OwnedCell> cells(const std::string& table);

  // ---- time ----
  // Waits for an anchor if trusted time stands, as a server does before a request that needs the
  // time. The reads and writes above call it.
  void catch_up();
  // Between two lifetimes: the initial clock of the next one.
  ManualClock& machine_clock() { return machine_clock_; }
  engine::ClockReport clock_report();
  Result<void> renew_clock();
  Result<engine::ClockReport> release_held_time();

  // ---- internals ----
  engine::Node& node();
  engine::EngineStats stats();  // summed over the shards
  SimWorld& world();
  SimLoop& loop(uint32_t shard);
  Shard& shard(uint32_t shard);
  // Replaces TestNodeOptions::on_round; null: no further calls.
  void on_round(std::function<void(TestNode&)> call) { options_.on_round = std::move(call); }
  MemDisk& disk() { return *disk_; }
  const engine::TableEntry* table(const std::string& name);
  uint64_t seed() const { return options_.seed; }
  uint32_t shards() const { return options_.shards; }

 private:
  struct Life;
  Result<void> open();
  Async<Result<void>> open_stores();
  void leave();
  void end_life();
  bool run_until(const std::function<bool()>& done);
  template <class T>
  T block_on(uint32_t shard, Async<T> work);
  engine::Engine& engine_of(const engine::TabletDescriptor& tablet);
  Result<void> read_tablet(const engine::TabletDescriptor& tablet, const ReadSpec& spec,
                           CellSink& sink);
  Result<void> read_into(const std::string& table, const ReadSpec& spec, CellSink& sink);

  TestNodeOptions options_;
  std::unique_ptr<MemDisk> disk_;
  Random random_;
  ManualClock machine_clock_;  // the clock at the end of the last lifetime
  uint64_t lives_ = 0;
  std::unique_ptr<Life> life_;
  std::optional<Error> open_error_;
};

}  // namespace cellar::support
