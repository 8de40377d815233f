// The cost of looking for something to reclaim, in steps, turns and edits.
#include <gtest/gtest.h>

#include "engine/gc/reclaim_estimate.h"
#include "engine/shard/shard_engine.h"
#include "engine/shard_figures.h"
#include "io/base/random.h"
#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

TestNodeOptions with_small_tables() {
  TestNodeOptions options;
  options.start_wall_us = kStartUs;
  options.engine.table_bytes = 1'500;
  return options;
}

class ReclaimCost : public ReclaimBed {
 protected:
  ReclaimCost() : ReclaimBed(with_small_tables()) {}

  void fill(int rows, int64_t timestamp_us, int first = 0) {
    for (int i = first; i < first + rows; ++i) {
      ASSERT_TRUE(
          node_.write("t", fmt::format("r{:06}", i), {set_cell("f:q", timestamp_us, noise())}));
    }
    ASSERT_TRUE(node_.flush("t"));
  }
  std::string noise() {
    std::string bytes;
    while (bytes.size() < 200) bytes.push_back(static_cast<char>(random_.below(256)));
    return bytes;
  }
  engine::Tablet& tablet() {
    auto& shard = static_cast<engine::ShardEngine&>(node_.node().engine(ShardId{0}));
    return *shard.tablets().at(node_.table("t")->tablets[0].id);
  }

  Random random_{3};
};

TEST_F(ReclaimCost, AViewGrowsWithTheTablesAndNotWithTheirSquare) {
  create(RetentionRule::max_versions(1));
  fill(600, 1);
  fill(600, 2);
  const uint64_t few_tables = tables();
  const uint64_t few = engine::reclaim_estimate(tablet()).looks;
  fill(2'400, 3, 10'000);
  fill(2'400, 4, 10'000);
  const uint64_t many_tables = tables();
  const uint64_t many = engine::reclaim_estimate(tablet()).looks;
  EXPECT_GT(few_tables, 100u);
  EXPECT_GE(many_tables, 4 * few_tables);
  EXPECT_LE(many / many_tables, 3 * (few / few_tables)) << few << " " << many;
}

TEST_F(ReclaimCost, FiguresOfManyTabletsAreTakenOverManyTurns) {
  engine::TableSpec spec;
  spec.name = "t";
  spec.families.emplace_back().name = "f";
  for (int i = 1; i < 200; ++i) spec.splits.push_back(fmt::format("r{:03}", i));
  ASSERT_TRUE(node_.create_table(std::move(spec)));
  for (int i = 0; i < 200; ++i)
    ASSERT_TRUE(node_.set("t", fmt::format("r{:03}x", i), "f:q", 0, "v"));
  pass_exactly(kHourUs + 5 * kMinuteUs);  // the figures are stale
  size_t rounds = 0;
  node_.on_round([&rounds](TestNode&) { ++rounds; });
  EXPECT_EQ(node_.figures("t").size(), 200u);
  EXPECT_GE(rounds, 200u / 8);
  node_.on_round(nullptr);
}

// A publication visits every table of the tablet (version.h).
TEST_F(ReclaimCost, OnlyTheFirstWriteAfterAFreezeAndAFlushPublishAVersion) {
  create(RetentionRule::max_versions(1));
  fill(60, 1);
  for (int i = 0; i < 3; ++i) {
    const uint64_t before = tablet().history().publications;
    for (int n = 0; n < 20; ++n) {
      ASSERT_TRUE(node_.set("t", "r000001", "f:q", 2, "v"));
      ASSERT_TRUE(node_.read_row("t", "r000001"));
    }
    EXPECT_EQ(tablet().history().publications - before, 1u);
    tablet().memtables().freeze();
    ASSERT_TRUE(node_.set("t", "r000002", "f:q", 2, "v"));
    EXPECT_EQ(tablet().history().publications - before, 2u);
    const uint64_t merges = compactions();
    ASSERT_TRUE(node_.flush("t"));
    EXPECT_EQ(tablet().history().publications - before, 4u + compactions() - merges)
        << "two memtables";
  }
}

// New rows among old ones kill nothing, although versions count. Only the filters can tell: by the
// number of cells alone each of them may push out an older one.
TEST_F(ReclaimCost, NewRowsAmongOldOnesAreNotMergedForReclaiming) {
  create(RetentionRule::max_versions(1));
  constexpr int kRounds = 16;
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < 100; ++i) {
      const std::string row = fmt::format("r{:06}", i * kRounds + round);
      ASSERT_TRUE(node_.write("t", row, {set_cell("f:q", now_us(), noise())}));
    }
    ASSERT_TRUE(node_.flush("t"));
    pass_exactly(30 * kMinuteUs);
  }
  const engine::ShardFigures shard = node_.node().engine(ShardId{0}).shard_figures();
  const double amplification = static_cast<double>(shard.flushed_bytes + shard.compacted_bytes) /
                               static_cast<double>(shard.flushed_bytes);
  EXPECT_LE(amplification, 2) << compactions() << " merges";
}

TEST_F(ReclaimCost, TheTablesOfAWindowLeaveInOneEdit) {
  create(RetentionRule::max_age_us(2 * kHourUs));
  fill(300, now_us());
  pass_exactly(2 * kHourUs);
  const uint64_t there = tables();
  ASSERT_GT(there, 30u);
  const uint64_t before = tablet().history().publications;
  pass_exactly(65 * kMinuteUs);
  EXPECT_EQ(tables(), 0u);
  EXPECT_LE(tablet().history().publications - before, 3u);
}

}  // namespace
}  // namespace cellar::support
