// Restores on a failing disk: the error is returned, no write outlives its writer, and all files
// written are removed.
#include <gtest/gtest.h>

#include "engine/backup/backup.h"
#include "io/sim/faulty_fs.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

std::string noise(uint64_t seed, size_t bytes) {
  Random random(seed);
  std::string text(bytes, ' ');
  for (char& c : text) c = static_cast<char>('!' + random.below(90));
  return text;
}

class RestoreFailure : public testing::Test {
 protected:
  // Writes `rows` rows of 8 kB: sets how many pieces a table has and how full the last one is.
  void fill(uint64_t seed, int rows) {
    TestNodeOptions options;
    options.seed = seed;
    options.engine.memtable_bytes = 6u << 20;
    options.engine.table_bytes = 16u << 20;
    options.min_latency_us = 100;
    options.max_latency_us = 20'000;
    options.wrap = [this](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
      return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults_, &loop.timers());
    };
    node_.emplace(options);
    TableOptions table;
    table.compression = Compression::none;
    ASSERT_TRUE(node_->create_table("t", {"f"}, {}, table));
    for (int i = 0; i < rows; ++i) {
      ASSERT_TRUE(node_->set("t", fmt::format("r{:04}", i), "f:q", 1,
                             noise(static_cast<uint64_t>(i), 8'000)));
    }
    ASSERT_TRUE(node_->flush("t"));
  }
  template <class T>
  T run(Async<T> work) {
    return node_->world().block_on(node_->loop(0), std::move(work));
  }
  Result<void> back_up(MemDisk& disk) {
    MemFs fs(node_->loop(0).executor(), disk);
    const auto store = engine::make_local_backup_store(fs);
    engine::BackupProgress progress;
    return run(node_->node().back_up(ShardId{0}, *store, {"one", {}, "source", "test"}, progress));
  }
  Result<engine::TableEntry> restore(MemDisk& disk) {
    MemFs fs(node_->loop(0).executor(), disk);
    const auto store = engine::make_local_backup_store(fs);
    engine::BackupProgress progress;
    return run(node_->node().restore_backup(ShardId{0}, *store, {"one", "t", "copy"}, node_->author,
                                            progress));
  }
  std::vector<std::string> blobs() {
    std::vector<std::string> found;
    for (const std::string& path : node_->disk().all_files()) {
      if (path.starts_with("blob/")) found.push_back(path);
    }
    return found;
  }

  FaultRules faults_;
  std::optional<TestNode> node_;
};

TEST_F(RestoreFailure, LeavesNoWriteInFlightAndNoFile) {
  for (const int rows : {31, 71, 95}) {
    fill(static_cast<uint64_t>(rows), rows);
    MemDisk backups;
    ASSERT_TRUE(back_up(backups));
    std::vector<std::string> before = blobs();
    for (const std::string_view operation : {"write", "allocate", "sync", "rename"}) {
      for (int nth = 1; nth <= 5; ++nth) {
        SCOPED_TRACE(fmt::format("{} rows, {} {}", rows, operation, nth));
        faults_.clear();
        ASSERT_TRUE(faults_.add(fmt::format("{} path=blob/* nth={} error=EIO", operation, nth)));
        const auto restored = restore(backups);
        if (faults_.hits() == 0) {
          ASSERT_TRUE(restored) << restored.error().to_string();
          ASSERT_TRUE(node_->drop_table("copy"));
          before = blobs();  // it can be restored, so its files stay
          break;
        }
        // A failed preallocation does not fail the restore.
        if (operation != "allocate") EXPECT_FALSE(restored);
        if (restored) {
          ASSERT_TRUE(node_->drop_table("copy"));
          before = blobs();
        }
        EXPECT_EQ(blobs(), before);
      }
    }
    faults_.clear();
    node_.reset();
  }
}

// The same for the backup side: a copy that cannot be finished leaves no file in the backup.
TEST_F(RestoreFailure, OfABackupThatCannotBeSealedLeavesNoFile) {
  fill(1, 31);
  for (const std::string_view operation : {"sync", "rename"}) {
    MemDisk disk;
    FaultRules there;
    auto base = std::make_unique<MemFs>(node_->loop(0).executor(), disk);
    FaultyFs fs(node_->loop(0).executor(), std::move(base), there);
    ASSERT_TRUE(there.add(fmt::format("{} path=blob/* nth=1 error=EIO", operation)));
    const auto store = engine::make_local_backup_store(fs);
    engine::BackupProgress progress;
    EXPECT_FALSE(
        run(node_->node().back_up(ShardId{0}, *store, {"one", {}, "source", "test"}, progress)));
    EXPECT_EQ(there.hits(), 1u) << operation;
    for (const std::string& path : disk.all_files()) {
      EXPECT_FALSE(path.starts_with("blob/")) << path;
    }
  }
}

}  // namespace
}  // namespace cellar::support
