// Blobs that cannot be reached for a while are not damaged: reads and merges fail and succeed
// later, and no table is taken out of service.
#include <gtest/gtest.h>

#include "engine/scrub/scrubber.h"
#include "engine/store/blob/blob_files.h"
#include "tests/support/blob_double.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr int64_t kScrubEveryUs = 60 * kMinuteUs;

class Unreachable : public testing::Test {
 protected:
  Unreachable() : node_(options()) {
    EXPECT_TRUE(node_.create_table("t", {"f"}));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(node_.set("t", row(i), "f:q", 5, "old"));
    EXPECT_TRUE(node_.flush("t"));
    for (int i = 0; i < 10; ++i) EXPECT_TRUE(node_.set("t", row(i), "f:q", 6, "new"));
    EXPECT_TRUE(node_.flush("t"));
    EXPECT_TRUE(node_.close());
    EXPECT_TRUE(node_.reopen());  // no block is in the cache
  }
  TestNodeOptions options() {
    TestNodeOptions options;
    options.engine.scrub_every_us = kScrubEveryUs;
    options.wrap_blobs = [this](std::unique_ptr<engine::BlobStore> store, ShardExecutor executor) {
      return std::make_unique<BlobDouble>(std::move(store), executor, reach_);
    };
    return options;
  }
  static std::string row(int i) { return fmt::format("row{}", i); }
  engine::ScrubFigures scrub() { return node_.node().engine(ShardId{0}).shard_figures().scrub; }
  engine::TabletFigures tablet() { return node_.figures("t").front(); }
  void expect_nothing_damaged() {
    EXPECT_EQ(tablet().verified.damaged, 0u);
    EXPECT_EQ(scrub().damaged_tables, 0u);
    EXPECT_EQ(scrub().damaged_blocks, 0u);
    EXPECT_EQ(scrub().failed_reads, 0u);
  }

  BlobDouble::Reach reach_;
  TestNode node_;
};

TEST_F(Unreachable, AReadIsToBeTriedAgainAndTheTableStays) {
  reach_.reachable = false;
  for (int i = 0; i < 3; ++i) {
    const auto cells = node_.read_row("t", row(1));
    ASSERT_FALSE(cells);
    EXPECT_EQ(cells.error().code, Errc::unavailable) << cells.error().to_string();
    EXPECT_TRUE(cells.error().retryable());
  }
  EXPECT_GE(reach_.refused_reads, 3u);
  expect_nothing_damaged();
  reach_.reachable = true;
  const auto cells = node_.read_row("t", row(1));
  ASSERT_TRUE(cells) << cells.error().to_string();
  EXPECT_EQ(cells->size(), 2u);
}

TEST_F(Unreachable, AMergeIsTriedAgain) {
  reach_.reachable = false;
  EXPECT_FALSE(node_.compact("t"));
  EXPECT_GT(reach_.refused_reads, 0u);
  expect_nothing_damaged();
  ASSERT_TRUE(node_.set("t", "another", "f:q", 5, "1")) << "writes go on";
  reach_.reachable = true;
  ASSERT_TRUE(node_.compact("t"));
  EXPECT_EQ(tablet().tables, 1u);
  EXPECT_EQ(node_.cells("t").size(), 21u);
}

TEST_F(Unreachable, TheScrubberCountsNoDamageAndReadsTheTableLater) {
  reach_.reachable = false;
  node_.world().run_for_us(kScrubEveryUs);
  EXPECT_GT(reach_.refused_reads, 10u) << "tried again";
  EXPECT_LT(reach_.refused_reads, 300u) << "with pauses";
  EXPECT_EQ(scrub().verified_tables, 0u);
  expect_nothing_damaged();
  reach_.reachable = true;
  node_.world().run_for_us(2 * engine::Scrubber::kUnreachableUs);
  EXPECT_EQ(scrub().verified_tables, 2u);
  expect_nothing_damaged();
}

// A start needs the index of every table: it fails, changes nothing, and the next one succeeds.
TEST_F(Unreachable, AStartFailsAndQuarantinesNothing) {
  ASSERT_TRUE(node_.close());
  reach_.reachable = false;
  const auto opened = node_.reopen();
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().code, Errc::unavailable) << opened.error().to_string();
  reach_.reachable = true;
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(node_.cells("t").size(), 20u);
  expect_nothing_damaged();
}

}  // namespace
}  // namespace cellar::support
