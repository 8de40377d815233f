// A node on real threads: shows accidental sharing between shards, which simulation cannot.
#include <gtest/gtest.h>

#include <atomic>

#include "engine/node.h"
#include "engine/read/scan.h"
#include "engine/store/local/local_stores.h"
#include "io/loop/shard_pool.h"
#include "io/sim/mem_disk.h"
#include "io/sim/mem_fs.h"

namespace cellar::engine {
namespace {

constexpr uint32_t kShards = 3;
constexpr int kRows = 200;

// The storage of one shard; made and destroyed on its thread.
struct Part {
  Part(Shard& shard, MemDisk& disk) : runtime(shard.runtime()), fs(shard.executor(), disk) {
    logs = make_local_log_store(fs, runtime, {.segment_bytes = 256u << 10});
    blobs = make_local_blob_store(fs);
  }
  Runtime runtime;
  MemFs fs;
  std::unique_ptr<LogStore> logs;
  std::unique_ptr<BlobStore> blobs;
};

class Threads : public testing::Test {
 protected:
  Threads() : pool_(clock_, {.shards = kShards, .pin = false, .seed = 5}) {
    parts_.resize(kShards);
    pool_.start([this](Shard& shard) {
      parts_[shard.id().value()] = std::make_unique<Part>(shard, disk_);
    });
  }
  ~Threads() override {
    const auto nothing = [](Shard&) -> Async<void> { co_return; };
    pool_.stop(nothing, [this](Shard& shard) { parts_[shard.id().value()].reset(); });
  }

  void open() {
    const auto work = [this](Shard&) -> Async<void> {
      auto manifest = co_await open_local_manifest_store(parts_[0]->fs, {});
      CHECK(manifest, "{}", manifest.error().to_string());
      manifest_ = std::move(*manifest);
      std::vector<ShardEnv> envs;
      for (auto& part : parts_) envs.push_back({part->runtime, *part->logs, *part->blobs});
      EngineOptions options;
      auto node = co_await Node::open(options, std::move(envs), *manifest_, pool_.mailboxes());
      CHECK(node, "{}", node.error().to_string());
      node_ = std::move(*node);
    };
    pool_.run_on(ShardId{0}, work);
  }
  void close() {
    const auto work = [this](Shard&) -> Async<void> {
      const auto closed = co_await node_->close();
      CHECK(closed, "{}", closed.error().to_string());
      node_.reset();
      manifest_.reset();
    };
    pool_.run_on(ShardId{0}, work);
  }

  SystemClock clock_;
  MemDisk disk_;
  ShardPool pool_;
  std::vector<std::unique_ptr<Part>> parts_;
  std::unique_ptr<ManifestStore> manifest_;
  std::unique_ptr<Node> node_;
};

struct Waiting {
  Write write;
  Waiter answered;
};

// Writes kRows rows into the shard's own tablet of table `name`.
Async<void> write_rows(Node& node, ShardId shard, std::string name) {
  for (const TabletDescriptor& tablet : node.tables(shard).find(Bytes(name))->tablets) {
    if (tablet.shard != shard) continue;
    for (int i = 0; i < kRows; ++i) {
      const std::string row = tablet.start + fmt::format("{:04}", i);
      Mutation op;
      op.family = "f";
      op.qualifier = "q";
      op.value = "value";
      op.timestamp_us = 1000;
      Waiting waiting;
      waiting.write.tablet = tablet.id;
      waiting.write.epoch = tablet.epoch;
      waiting.write.mutation = {.row = row, .mutations = {&op, 1}};
      waiting.write.context = &waiting;
      waiting.write.done = [](Write& w) { static_cast<Waiting*>(w.context)->answered.resume(); };
      node.engine(shard).submit(waiting.write);
      co_await waiting.answered.wait();
      CHECK(!waiting.write.error, "{}", waiting.write.error->to_string());
    }
  }
}

struct RowCount final : CellSink {
  Flow cell(const CellView&) override { return ++cells, Flow::more; }
  Flow end_row(Bytes) override { return Flow::more; }
  uint64_t cells = 0;
};

Async<uint64_t> count_rows(Node& node, ShardId shard, std::string name) {
  RowCount count;
  ReadSpec spec;
  spec.rows = RowSet::everything();
  for (const TabletDescriptor& tablet : node.tables(shard).find(Bytes(name))->tablets) {
    if (tablet.shard != shard) continue;
    auto cursor = node.engine(shard).open_scan(tablet.id, tablet.epoch, spec);
    CHECK(cursor, "{}", cursor.error().to_string());
    while (true) {
      const ScanStep step = (*cursor)->run(count);
      CHECK(step != ScanStep::failed, "{}", (*cursor)->error().to_string());
      if (step == ScanStep::done) break;
      if (step == ScanStep::blocked) co_await (*cursor)->load();
    }
  }
  co_return count.cells;
}

TEST_F(Threads, TablesAreCreatedWrittenFlushedAndDroppedFromEveryShard) {
  open();
  // All shards at once: each creates a table of its own and drops another.
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    TableSpec spec;
    spec.name = fmt::format("t{}", shard.id().value());
    spec.families = {{"f"}};
    spec.splits = {"b", "c", "d", "e"};
    const auto created = co_await node_->create_table(shard.id(), spec, {});
    CHECK(created, "{}", created.error().to_string());
    spec.name = fmt::format("u{}", shard.id().value());
    const auto extra = co_await node_->create_table(shard.id(), spec, {});
    CHECK(extra, "{}", extra.error().to_string());
    const auto dropped = co_await node_->drop_table(shard.id(), spec.name, {});
    CHECK(dropped, "{}", dropped.error().to_string());
  });
  pool_.run_on_all([this](Shard& shard) -> Async<void> {
    for (uint32_t i = 0; i < kShards; ++i) {
      co_await write_rows(*node_, shard.id(), fmt::format("t{}", i));
      const auto flushed = co_await node_->flush_table(shard.id(), fmt::format("t{}", i));
      CHECK(flushed, "{}", flushed.error().to_string());
    }
    const auto compacted = co_await node_->compact_table(shard.id(), "t0");
    CHECK(compacted, "{}", compacted.error().to_string());
  });
  for (int life = 0; life < 2; ++life) {
    std::atomic<uint64_t> rows{0};
    pool_.run_on_all([this, &rows](Shard& shard) -> Async<void> {
      for (uint32_t i = 0; i < kShards; ++i) {
        rows += co_await count_rows(*node_, shard.id(), fmt::format("t{}", i));
      }
      const auto stats = co_await node_->stats(shard.id());
      CHECK(stats.size() == kShards, "{} answers", stats.size());
    });
    EXPECT_EQ(rows, 5u * kShards * kRows);
    close();
    if (life == 0) open();
  }
}

}  // namespace
}  // namespace cellar::engine
