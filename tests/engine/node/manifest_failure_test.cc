// A failed manifest takes no more edits, so no shard may accept a write that it could never flush:
// every shard becomes read-only at once, whichever shard made the edit that failed.
#include <gtest/gtest.h>

#include "io/sim/faulty_fs.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

class ManifestFailure : public testing::Test {
 protected:
  TestNodeOptions options() {
    TestNodeOptions options;
    options.shards = 2;
    options.engine.memory_bytes = 16u << 20;
    options.engine.clock_permit_us = 10'000'000;
    options.engine.clock_renew_us = 4'000'000;
    options.wrap = [this](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
      return std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults_, &loop.timers());
    };
    return options;
  }
  void SetUp() override {
    node_.emplace(options());
    ASSERT_TRUE(node_->create_table("t", {"f"}, {"m"}));
    ASSERT_TRUE(node_->set("t", "a", "f:q", 1, "v"));
    ASSERT_TRUE(node_->set("t", "z", "f:q", 1, "v"));
    ASSERT_NE(shard_of("a"), shard_of("z"));
  }
  uint32_t shard_of(const std::string& row) {
    for (const engine::TabletDescriptor& tablet : node_->table("t")->tablets) {
      if (tablet.end.empty() || row < tablet.end) return tablet.shard.value();
    }
    return 0;
  }
  bool is_read_only(uint32_t shard) {
    return node_->node().engine(ShardId{shard}).stats().read_only;
  }
  void fail_next_edit() { ASSERT_TRUE(faults_.add("write path=manifest/* nth=1 error=EIO")); }
  void run_for(int64_t us) { node_->world().run_for_us(us); }
  void expect_all_read_only() {
    for (uint32_t shard = 0; shard < 2; ++shard) EXPECT_TRUE(is_read_only(shard)) << shard;
    for (const char* row : {"a", "z"}) {
      const auto refused = node_->set("t", row, "f:q", 2, "never");
      ASSERT_FALSE(refused) << row;
      EXPECT_EQ(refused.error().code, Errc::unavailable) << refused.error().to_string();
      EXPECT_EQ(refused.error().applied, Applied::not_applied);
      EXPECT_TRUE(node_->read_row("t", row)) << row;
    }
  }

  FaultRules faults_;
  std::optional<TestNode> node_;
};

TEST_F(ManifestFailure, OfTheClocksRenewalStopsEveryShard) {
  fail_next_edit();
  run_for(5'000'000);
  ASSERT_EQ(faults_.hits(), 1u);
  expect_all_read_only();
}

TEST_F(ManifestFailure, OfAFlushStopsEveryShard) {
  for (const char* row : {"a", "z"}) {
    SCOPED_TRACE(row);
    faults_.clear();
    node_.reset();
    node_.emplace(options());
    ASSERT_TRUE(node_->create_table("t", {"f"}, {"m"}));
    ASSERT_TRUE(node_->set("t", row, "f:q", 1, "v"));
    fail_next_edit();
    EXPECT_FALSE(node_->flush("t"));
    ASSERT_EQ(faults_.hits(), 1u);
    run_for(1);
    expect_all_read_only();
  }
}

TEST_F(ManifestFailure, OfTheCatalogStopsEveryShardAndTheNextStartServes) {
  fail_next_edit();
  const auto created = node_->create_table("u", {"f"});
  ASSERT_FALSE(created);
  EXPECT_EQ(created.error().applied, Applied::maybe_applied);
  run_for(1);
  expect_all_read_only();
  faults_.clear();
  node_->kill();
  ASSERT_TRUE(node_->reopen());
  EXPECT_TRUE(node_->set("t", "a", "f:q", 2, "again"));
  EXPECT_EQ(node_->read_row("t", "z")->size(), 1u);
}

// What no tablet names harms nothing: it stays until a start can remove it.
TEST_F(ManifestFailure, AnUnusedFileThatCannotBeRemovedStopsNoStart) {
  ASSERT_TRUE(node_->flush("t"));
  ASSERT_TRUE(node_->close());
  std::string used;
  for (const std::string& path : node_->disk().all_files()) {
    if (path.starts_with("blob/")) used = path;
  }
  std::string unused = used;
  unused[unused.find('.') - 1] ^= 1;
  ASSERT_TRUE(node_->disk().write_all(unused, *node_->disk().read_all(used)));
  ASSERT_TRUE(faults_.add("remove path=" + unused + " error=EIO sticky nth=1"));
  ASSERT_TRUE(node_->reopen());
  EXPECT_GT(faults_.hits(), 0u);
  EXPECT_TRUE(node_->set("t", "a", "f:q", 2, "again"));
  EXPECT_EQ(node_->read_row("t", "z")->size(), 1u);
  ASSERT_TRUE(node_->close());
  faults_.clear();
  ASSERT_TRUE(node_->reopen());
  EXPECT_FALSE(node_->disk().read_all(unused));
}

}  // namespace
}  // namespace cellar::support
