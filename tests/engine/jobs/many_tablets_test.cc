// What is asked of many tablets at once costs the disk little more than of one, and what exists
// beside a table does not make it dearer.
#include <gtest/gtest.h>

#include "engine/shard/shard_engine.h"
#include "io/base/random.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

std::vector<std::string> splits(int tablets) {
  std::vector<std::string> rows;
  for (int i = 1; i < tablets; ++i) rows.push_back(fmt::format("r{:04}", i));
  return rows;
}

// By the time of a disk of which every operation takes a millisecond.
TEST(ManyTablets, AreFlushedTogether) {
  TestNodeOptions options;
  options.shards = 2;
  options.min_latency_us = options.max_latency_us = 1'000;
  TestNode node(options);
  constexpr int kTablets = 128;
  ASSERT_TRUE(node.create_table("one", {"f"}));
  ASSERT_TRUE(node.create_table("many", {"f"}, splits(kTablets)));
  const auto time_of_flush = [&node](const std::string& table) {
    const int64_t began_us = node.world().clock().boot_us();
    EXPECT_TRUE(node.flush(table));
    return node.world().clock().boot_us() - began_us;
  };
  ASSERT_TRUE(node.set("one", "r", "f:q", 1, "v"));
  const int64_t one_us = time_of_flush("one");
  for (int i = 0; i < kTablets; ++i)
    ASSERT_TRUE(node.set("many", fmt::format("r{:04}", i), "f:q", 1, "v"));
  const int64_t many_us = time_of_flush("many");
  EXPECT_LT(many_us, one_us * kTablets / 6) << one_us;
  EXPECT_EQ(node.stats().tables_on_disk, kTablets + 1u);
  EXPECT_EQ(node.cells("many").size(), static_cast<size_t>(kTablets));
  ASSERT_TRUE(node.close());
  ASSERT_TRUE(node.reopen());
  EXPECT_EQ(node.stats().tables_on_disk, kTablets + 1u);
}

TEST(ManyTablets, ACreationSearchesNoneOfTheOthers) {
  TestNode node;
  for (int i = 0; i < 20; ++i) ASSERT_TRUE(node.create_table(fmt::format("t{}", i), {"f"}));
  node.world().run_for_us(1'000'000);
  const uint64_t turns = node.stats().reclaim_turns;
  for (int i = 20; i < 60; ++i) ASSERT_TRUE(node.create_table(fmt::format("t{}", i), {"f"}));
  EXPECT_EQ(node.stats().reclaim_turns, turns);
  ASSERT_TRUE(node.set("t59", "r", "f:q", 1, "v"));
  EXPECT_EQ(node.cells("t59").size(), 1u);
}

const engine::ShardEngine& shard_engine(TestNode& node, uint32_t shard) {
  return static_cast<const engine::ShardEngine&>(node.node().engine(ShardId{shard}));
}

// The sums as a walk finds them.
void expect_kept(TestNode& node) {
  uint64_t tables = 0;
  uint64_t bytes = 0;
  for (uint32_t i = 0; i < node.shards(); ++i) {
    for (const auto& [id, tablet] : shard_engine(node, i).tablets()) {
      for (const engine::TabletRun& run : tablet->version().runs) {
        tables += run.tables.size();
        for (const auto& table : run.tables) bytes += table->slice().bytes();
      }
    }
  }
  ASSERT_EQ(node.stats().tables_on_disk, tables);
  ASSERT_EQ(node.stats().table_bytes, bytes);
}

TEST(ManyTablets, SumsOfTheirTablesAreKept) {
  TestNodeOptions options;
  options.shards = 2;
  TestNode node(options);
  Random random(1);
  ASSERT_TRUE(node.create_table("t", {"f"}, splits(4)));
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(i);
    const auto row = [&] {
      return fmt::format("r{:04}x{:03}", random.below(5), random.below(500));
    };
    const auto tablets = node.table("t")->tablets;
    const engine::TabletDescriptor& any = tablets[random.below(tablets.size())];
    switch (random.below(12)) {
      case 0:
        ASSERT_TRUE(node.flush("t"));
        break;
      case 1:
        ASSERT_TRUE(node.compact("t"));
        break;
      case 2:
        (void)node.split(any.id, row());  // or the row is elsewhere
        break;
      case 3:
        if (tablets.size() > 1) (void)node.merge(tablets[0].id, tablets[1].id);
        break;
      case 4:
        ASSERT_TRUE(node.move(any.id, static_cast<uint32_t>(random.below(2))));
        break;
      case 5:
        if (!random.one_in(6)) break;
        ASSERT_TRUE(node.drop_table("t"));
        expect_kept(node);
        if (random.one_in(2)) {
          ASSERT_TRUE(node.restore_table("t"));
        } else {
          ASSERT_TRUE(node.create_table("t", {"f"}, splits(3)));
        }
        break;
      default:
        for (int k = 0; k < 20; ++k) ASSERT_TRUE(node.set("t", row(), "f:q", k, "value"));
    }
    expect_kept(node);
    if (testing::Test::HasFatalFailure()) return;
  }
  EXPECT_GT(node.stats().tables_on_disk, 0u);
}

}  // namespace
}  // namespace cellar::support
