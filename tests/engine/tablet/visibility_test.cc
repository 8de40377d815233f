// Levels of durability: when a commit becomes visible, and in which order.
#include <gtest/gtest.h>

#include "io/sim/faulty_fs.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

std::vector<OwnedMutation> put(int64_t t, std::string value) {
  std::vector<OwnedMutation> ops;
  ops.push_back(set_cell("f:q", t, std::move(value)));
  return ops;
}

class Visibility : public testing::Test {
 protected:
  Visibility() : node_(options()) { EXPECT_TRUE(node_.create_table("t", {"f"})); }
  static TestNodeOptions options() {
    TestNodeOptions options;
    options.min_latency_us = options.max_latency_us = 1'000;
    return options;
  }
  TestNode node_;
};

TEST_F(Visibility, ASyncWriteIsNotSeenBeforeItIsOnDisk) {
  const auto write = node_.begin_write("t", "r", put(1, "a"), Durability::sync);
  EXPECT_FALSE(write->finished);
  EXPECT_TRUE(node_.cells("t").empty());
  node_.wait(*write);
  ASSERT_FALSE(write->write.error);
  EXPECT_EQ(node_.cells("t").size(), 1u);
}

TEST_F(Visibility, AMemoryWriteBehindAPendingSyncWriteIsNotSeenBeforeIt) {
  const auto first = node_.begin_write("t", "a", put(1, "a"), Durability::sync);
  const auto second = node_.begin_write("t", "b", put(1, "b"), Durability::memory);
  node_.world().run_until_idle();
  EXPECT_FALSE(first->finished);
  EXPECT_FALSE(second->finished);
  EXPECT_TRUE(node_.cells("t").empty());
  node_.wait(*second);
  EXPECT_TRUE(first->finished) << "done runs in commit order";
  EXPECT_EQ(node_.cells("t").size(), 2u);
}

TEST_F(Visibility, AMemoryWriteAloneIsSeenWithoutTheDisk) {
  const auto write = node_.begin_write("t", "a", put(1, "a"), Durability::memory);
  node_.world().run_until_idle();
  EXPECT_TRUE(write->acked());
  EXPECT_EQ(node_.cells("t").size(), 1u);
}

// A flush drops cells that a newer commit has overwritten; if the newer commit were not visible
// yet, a reader would find neither.
TEST(VisibilityOfAFlush, WaitsForCommitsWhoseLogWriteIsUnderWay) {
  FaultRules faults;
  FaultyFs* fs = nullptr;
  TestNodeOptions options;
  options.wrap = [&](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
    auto faulty =
        std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults, &loop.timers());
    fs = faulty.get();
    return faulty;
  };
  TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.write("t", "r", put(1, "old")));
  ASSERT_TRUE(faults.add("write path=log/* hang nth=1"));
  const auto write = node.begin_write("t", "r", put(1, "new"));
  std::optional<Result<void>> flushed;
  spawn(node.loop(0).executor(),
        detail::run_into(node.node().flush_table(ShardId{0}, "t"), flushed));
  node.world().run_for_us(1'000'000);
  EXPECT_FALSE(flushed);
  ASSERT_EQ(node.cells("t").size(), 1u);
  EXPECT_EQ(node.cells("t")[0].value, "old");
  EXPECT_EQ(fs->release_hung(), 1u);
  node.wait(*write);
  node.world().run_for_us(1'000'000);
  ASSERT_TRUE(flushed && *flushed);
  ASSERT_EQ(node.cells("t").size(), 1u);
  EXPECT_EQ(node.cells("t")[0].value, "new");
}

// The log is needed from the end of the flushed memtable on, not from where it ends afterwards.
TEST(VisibilityOfAFlush, LeavesTheCommitsThatCameMeanwhileInTheLog) {
  FaultRules faults;
  FaultyFs* fs = nullptr;
  TestNodeOptions options;
  options.wrap = [&](std::unique_ptr<FileSystem> inner, MemDisk&, SimLoop& loop) {
    auto faulty =
        std::make_unique<FaultyFs>(loop.executor(), std::move(inner), faults, &loop.timers());
    fs = faulty.get();
    return faulty;
  };
  TestNode node(options);
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.write("t", "before", put(1, "v")));
  ASSERT_TRUE(faults.add("write path=blob/* hang nth=1"));
  std::optional<Result<void>> flushed;
  spawn(node.loop(0).executor(),
        detail::run_into(node.node().flush_table(ShardId{0}, "t"), flushed));
  node.world().run_for_us(1'000'000);
  EXPECT_FALSE(flushed);
  ASSERT_TRUE(node.write("t", "meanwhile", put(1, "v")));
  EXPECT_EQ(fs->release_hung(), 1u);
  node.world().run_for_us(1'000'000);
  ASSERT_TRUE(flushed && *flushed);
  ASSERT_TRUE(node.write("t", "after", put(1, "v")));
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen()) << node.open_error()->to_string();
  std::vector<std::string> rows;
  for (const auto& cell : node.cells("t")) rows.push_back(cell.row);
  EXPECT_EQ(rows, (std::vector<std::string>{"after", "before", "meanwhile"}));
}

TEST_F(Visibility, APowerCutLosesUnsyncedCommitsFromTheEndOnly) {
  std::vector<std::unique_ptr<PendingWrite>> writes;
  for (int i = 0; i < 20; ++i) {
    const Durability level = i == 10 ? Durability::sync : Durability::memory;
    writes.push_back(node_.begin_write("t", "r" + std::to_string(100 + i), put(1, "v"), level));
  }
  node_.wait(*writes[10]);
  node_.crash(CrashPolicy::none);
  ASSERT_TRUE(node_.reopen()) << node_.open_error()->to_string();
  const auto cells = node_.cells("t");
  ASSERT_GE(cells.size(), 11u) << "a durable commit makes every earlier one durable";
  for (size_t i = 0; i < cells.size(); ++i) {
    EXPECT_EQ(cells[i].row, "r" + std::to_string(100 + i));
  }
}

// Entries that a start reads after a kill may never have reached the disk; what that start writes
// must not depend on them.
TEST_F(Visibility, APowerCutAfterAKillLosesAtMostWhatWasNeverDurable) {
  for (const int64_t delay_us : {0, 500, 2'000, 200'000}) {
    ASSERT_TRUE(node_.write("t", "kept", put(1, "v")));
    for (int i = 0; i < 50; ++i) {
      const auto write = node_.begin_write("t", "r", put(i, std::string(3'000, 'v')),
                                           i % 2 == 0 ? Durability::memory : Durability::periodic);
      node_.world().run_until_idle();
    }
    node_.world().run_for_us(delay_us);
    node_.kill();
    ASSERT_TRUE(node_.reopen()) << delay_us << " us: " << node_.open_error()->to_string();
    node_.crash(CrashPolicy::none);
    ASSERT_TRUE(node_.reopen()) << delay_us << " us: " << node_.open_error()->to_string();
    EXPECT_EQ(node_.read_row("t", "kept")->size(), 1u);
  }
}

TEST_F(Visibility, StampsRiseWithinATabletEvenWhenManyCommitsShareAnInstant) {
  CommitStamp last;
  for (int i = 0; i < 50; ++i) {
    const auto stamp = node_.write("t", "r", put(i, "v"), Durability::memory);
    ASSERT_TRUE(stamp);
    EXPECT_GT(*stamp, last);
    last = *stamp;
  }
}

TEST_F(Visibility, StampsDoNotGoBackOverARestartThoughTheClockDoes) {
  const auto before = node_.write("t", "r", put(1, "old"));
  ASSERT_TRUE(before);
  for (const bool flushed : {false, true}) {
    if (flushed) ASSERT_TRUE(node_.flush("t"));
    node_.world().clock().set_wall_us(SimWorld::kStartWallUs - 86'400'000'000);
    node_.crash(CrashPolicy::none);
    ASSERT_TRUE(node_.reopen()) << node_.open_error()->to_string();
    const auto after = node_.write("t", "r", put(1, flushed ? "newest" : "newer"));
    ASSERT_TRUE(after);
    EXPECT_GT(*after, *before);
    ASSERT_EQ(node_.cells("t").size(), 1u);
    EXPECT_EQ(node_.cells("t")[0].value, flushed ? "newest" : "newer");
  }
}

TEST_F(Visibility, AServerStampedCellIsTheNewestAfterARestartWithTheClockSetBack) {
  ASSERT_TRUE(node_.write("t", "r", put(kServerStamped, "first")));
  node_.world().clock().set_wall_us(SimWorld::kStartWallUs - 86'400'000'000);
  node_.crash(CrashPolicy::none);
  ASSERT_TRUE(node_.reopen()) << node_.open_error()->to_string();
  ASSERT_TRUE(node_.write("t", "r", put(kServerStamped, "second")));
  EXPECT_EQ(node_.cells("t").front().value, "second");
}

}  // namespace
}  // namespace cellar::support
