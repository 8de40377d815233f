// The forecast of deaths, what left the disk, and the record of merges.
#include <gtest/gtest.h>

#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

using engine::kDeathHorizonsUs;
using engine::MergeReason;
using engine::MergeRecord;

class DeathForecast : public ReclaimBed {
 protected:
  static constexpr int kRows = 400;
  void fill(int64_t age_us) {
    for (int i = 0; i < kRows; ++i) set(fmt::format("row{:04}", i), now_us() - age_us);
  }
  // Of the figures, the cells that die within that time.
  uint64_t cells_within(int64_t us) {
    const auto at = std::ranges::find(kDeathHorizonsUs, us);
    return figures().dying.cells.at(static_cast<size_t>(at - kDeathHorizonsUs.begin()));
  }
  std::vector<MergeRecord> merges() {
    std::vector<MergeRecord> all;
    for (uint32_t i = 0; i < node_.shards(); ++i) {
      const auto kept = node_.node().engine(ShardId{i}).merge_history();
      all.insert(all.end(), kept.begin(), kept.end());
    }
    return all;
  }
};

constexpr int64_t kWeekUs = 168 * kHourUs;

TEST_F(DeathForecast, CountsWhatDiesByAgeInMemoryAndOnDisk) {
  create(RetentionRule::max_age_us(5 * kHourUs));
  fill(0);
  for (const bool on_disk : {false, true}) {
    if (on_disk) ASSERT_TRUE(node_.flush("t"));
    EXPECT_EQ(cells_within(kHourUs), 0u) << on_disk;
    EXPECT_EQ(cells_within(3 * kHourUs), 0u) << on_disk;
    EXPECT_NEAR(static_cast<double>(cells_within(6 * kHourUs)), kRows, kRows / 20) << on_disk;
    EXPECT_NEAR(static_cast<double>(cells_within(kWeekUs)), kRows, kRows / 20) << on_disk;
    const engine::TabletFigures now = figures();
    EXPECT_NEAR(static_cast<double>(now.dying.bytes.back()), static_cast<double>(now.live_bytes),
                static_cast<double>(now.live_bytes) / 20)
        << on_disk;
  }
  // What has died does not die again.
  pass_exactly(5 * kHourUs + kMinuteUs);
  EXPECT_LT(cells_within(kWeekUs), static_cast<uint64_t>(kRows / 20));
}

TEST_F(DeathForecast, CountsOwnExpiryAndNothingThatLivesOn) {
  create({});
  for (int i = 0; i < kRows; ++i) {
    const bool dies = i % 2 == 0;
    set(fmt::format("row{:04}", i), now_us(), dies ? now_us() + 30 * kHourUs : kNoExpiry);
  }
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(cells_within(24 * kHourUs), 0u);
  EXPECT_NEAR(static_cast<double>(cells_within(48 * kHourUs)), kRows / 2, kRows / 10);
  EXPECT_NEAR(static_cast<double>(cells_within(kWeekUs)), kRows / 2, kRows / 10);
}

TEST_F(DeathForecast, AMergeTellsWhyItWasAndWhatLeft) {
  create(RetentionRule::max_versions(1));
  for (int version = 0; version < 3; ++version) {
    fill(-version);
    ASSERT_TRUE(node_.flush("t"));
  }
  ASSERT_TRUE(merges().empty());
  ASSERT_TRUE(node_.compact("t"));
  const std::vector<MergeRecord> all = merges();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].reason, MergeReason::request);
  EXPECT_EQ(all[0].runs, 3u);
  EXPECT_EQ(all[0].tables_in, 3u);
  EXPECT_EQ(all[0].tables_out, 1u);
  EXPECT_EQ(all[0].left_cells, 2u * kRows);
  EXPECT_GT(all[0].left_bytes, all[0].bytes_in / 2);
  EXPECT_LT(all[0].left_bytes, all[0].bytes_in);
  EXPECT_EQ(figures().left_cells, 2u * kRows);
  EXPECT_EQ(figures().left_bytes, all[0].left_bytes);
}

TEST_F(DeathForecast, ARemovalOfDeadTablesIsRecorded) {
  create(RetentionRule::max_age_us(kHourUs));
  fill(0);
  ASSERT_TRUE(node_.flush("t"));
  pass(10 * kHourUs);
  ASSERT_EQ(tables(), 0u);
  const std::vector<MergeRecord> all = merges();
  ASSERT_EQ(all.size(), 1u);
  EXPECT_EQ(all[0].reason, MergeReason::removal);
  EXPECT_EQ(all[0].left_cells, static_cast<uint64_t>(kRows));
  EXPECT_EQ(all[0].left_bytes, all[0].bytes_in);
  EXPECT_EQ(all[0].tables_out, 0u);
  EXPECT_GT(all[0].ended_us, kStartUs);
}

TEST_F(DeathForecast, AMergeOfWhatNewerDataKilledIsCalledThat) {
  create(RetentionRule::max_versions(1));
  for (int version = 0; version < 3; ++version) {
    fill(-version);
    ASSERT_TRUE(node_.flush("t"));
  }
  pass(3 * kHourUs);
  const std::vector<MergeRecord> all = merges();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back().reason, MergeReason::dead_runs);
  EXPECT_EQ(figures().left_cells, 2u * kRows);
}

}  // namespace
}  // namespace cellar::support
