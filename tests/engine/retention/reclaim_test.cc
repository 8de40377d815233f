// Cells that have died leave the disk without any write, flush or compaction request.
#include <gtest/gtest.h>

#include "engine/read/scan.h"
#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

class Reclaim : public ReclaimBed {
 protected:
  // The number of entries that a scan of everything visits.
  uint64_t entries_read() {
    ReadSpec spec;
    spec.rows = RowSet::everything();
    const engine::TabletDescriptor& tablet = node_.table("t")->tablets.front();
    auto cursor = node_.node().engine(tablet.shard).open_scan(tablet.id, tablet.epoch, spec);
    struct Ignore final : CellSink {
      Flow cell(const CellView&) override { return Flow::more; }
      Flow end_row(Bytes) override { return Flow::more; }
    } sink;
    for (engine::ScanStep step = (*cursor)->run(sink); step != engine::ScanStep::done;
         step = (*cursor)->run(sink)) {
      node_.world().block_on(node_.loop(0), (*cursor)->load());
    }
    return (*cursor)->entries_read();
  }
  // A hundred cells, one per minute, the last one now.
  void fill_evenly() {
    for (int64_t i = 0; i < 100; ++i)
      set(fmt::format("row{:02}", i), now_us() - (99 - i) * kMinuteUs);
    ASSERT_TRUE(node_.flush("t"));
  }

  Reclaim() = default;
  explicit Reclaim(TestNodeOptions options) : ReclaimBed(std::move(options)) {}
};

TEST_F(Reclaim, ATableThatIsWhollyDeadGoesUnreadWithinTheMargin) {
  create(RetentionRule::max_age_us(kHourUs));
  set("a", now_us());
  ASSERT_TRUE(node_.flush("t"));
  set("b", now_us());
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(tables(), 2u);
  pass_exactly(kHourUs + 200'000'000);  // dead, and the margin of 5 min has not passed
  EXPECT_TRUE(node_.cells("t").empty());
  EXPECT_EQ(tables(), 2u);
  pass(kHourUs / 2);
  EXPECT_EQ(tables(), 0u);
  EXPECT_EQ(node_.stats().compactions, 0u);
}

TEST_F(Reclaim, CellsThatExpireByThemselvesNeedNoRule) {
  create(RetentionRule{});
  set("a", 5, now_us() + kHourUs);
  ASSERT_TRUE(node_.flush("t"));
  pass(2 * kHourUs);
  EXPECT_EQ(tables(), 0u);
}

TEST_F(Reclaim, ATableThatMasksSomethingIsMergedAway) {
  create(RetentionRule{});
  set("a", 5);
  ASSERT_TRUE(node_.flush("t"));
  set("a", 5, now_us() + kHourUs);  // displaces the older cell, and dies
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(tables(), 2u);
  pass(2 * kHourUs);
  EXPECT_TRUE(node_.cells("t").empty());
  EXPECT_EQ(tables(), 0u);
  EXPECT_EQ(node_.stats().compactions, 1u);
}

TEST_F(Reclaim, PastRulesAreForgottenOnceNothingIsOlderThanTheChange) {
  create(RetentionRule::max_versions(3), kHourUs);
  for (int64_t t = 1; t <= 5; ++t) set("a", t);
  ASSERT_TRUE(node_.flush("t"));
  engine::TableChange change;
  change.name = "t";
  engine::FamilySpec& family = change.alter.emplace_back();
  family.name = "f";
  family.rule = RetentionRule::max_versions(1);
  ASSERT_TRUE(node_.alter_table(change));
  EXPECT_EQ(node_.cells("t").size(), 1u);
  EXPECT_EQ(node_.table("t")->schema.families[0].history.size(), 1u);
  pass(3 * kHourUs);
  EXPECT_EQ(node_.stats().compactions, 1u);
  change.alter[0].rule = RetentionRule::max_versions(2);
  ASSERT_TRUE(node_.alter_table(change));
  EXPECT_EQ(node_.cells("t").size(), 1u);  // the window has passed
  // only the last change is left
  EXPECT_EQ(node_.table("t")->schema.families[0].history.size(), 1u);
}

// ---- dead cells in live tables

// At minute t the cell of minute -m is t + m minutes old: the first dies at 21, the last at 120. A
// cell is overdue 65 minutes later: 60 of reclaim_within, 5 of the margin.
TEST_F(Reclaim, OverdueBytesOverTheSlackAreMergedAway) {
  create(RetentionRule::max_age_us(2 * kHourUs));
  fill_evenly();
  const auto bytes = static_cast<double>(figures().bytes);
  pass_exactly(15 * kMinuteUs);
  EXPECT_EQ(figures().dead_bytes, 0u);
  EXPECT_EQ(figures().oldest_death_us, INT64_MAX);
  pass_exactly(45 * kMinuteUs);  // 60: 40 are dead
  EXPECT_NEAR(static_cast<double>(figures().dead_bytes), 0.4 * bytes, 0.05 * bytes);
  EXPECT_EQ(figures().overdue_bytes, 0u);
  EXPECT_NEAR(static_cast<double>(figures().oldest_death_us - kStartUs), 21 * kMinuteUs, 1000);
  pass_exactly(27 * kMinuteUs);  // 87: 2 are overdue, 33 live
  EXPECT_GT(figures().overdue_bytes, 0u);
  EXPECT_EQ(compactions(), 0u);
  pass_exactly(23 * kMinuteUs);  // 110: it would be 25 and 10
  EXPECT_EQ(compactions(), 1u);
  EXPECT_EQ(figures().overdue_bytes, 0u);
  EXPECT_LT(static_cast<double>(figures().bytes), 0.6 * bytes);
  EXPECT_EQ(node_.cells("t").size(), 11u);
}

TEST_F(Reclaim, ASlackOfAsMuchAsLivesWaitsForIt) {
  create(RetentionRule::max_age_us(2 * kHourUs));
  set_options(1.0);
  fill_evenly();
  pass_exactly(100 * kMinuteUs);  // 15 are overdue, 20 live
  EXPECT_EQ(compactions(), 0u);
}

TEST_F(Reclaim, NoSlackAsksForEveryOverdueByte) {
  create(RetentionRule::max_age_us(2 * kHourUs));
  set_options(0.0);
  fill_evenly();
  pass_exactly(103 * kMinuteUs);  // 18 would be overdue
  EXPECT_EQ(compactions(), 1u);
  EXPECT_EQ(figures().overdue_bytes, 0u);
  EXPECT_EQ(node_.cells("t").size(), 18u);
}

TEST_F(Reclaim, WhereVersionsCountOverdueBytesGoInAMergeOfAllRuns) {
  create(RetentionRule::union_of(
      {RetentionRule::max_age_us(2 * kHourUs), RetentionRule::max_versions(3)}));
  set_options(0.0);
  fill_evenly();
  set("other", now_us());
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(tables(), 2u);
  pass_exactly(103 * kMinuteUs);
  EXPECT_EQ(compactions(), 1u);
  EXPECT_EQ(tables(), 1u);
  EXPECT_EQ(figures().overdue_bytes, 0u);
  EXPECT_EQ(node_.cells("t").size(), 19u);
}

TEST_F(Reclaim, WhatAnUndoWindowHoldsIsNotOverdue) {
  create(RetentionRule::max_age_us(1000 * kHourUs), 1000 * kHourUs);
  fill_evenly();
  engine::TableChange change;
  change.name = "t";
  change.alter.push_back({.name = "f", .rule = RetentionRule::max_age_us(kHourUs)});
  ASSERT_TRUE(node_.alter_table(change));
  pass(5 * kHourUs);
  EXPECT_TRUE(node_.cells("t").empty());
  EXPECT_EQ(figures().overdue_bytes, 0u);
  EXPECT_EQ(compactions(), 0u);
}

// A hundred cells without any rule die by their own expiry, one a minute.
TEST_F(Reclaim, OverdueBytesOfOwnExpiriesAreMergedAway) {
  create(RetentionRule{});
  for (int64_t i = 0; i < 100; ++i) {
    set(fmt::format("row{:02}", i), 5 + i, now_us() + (i + 1) * kMinuteUs);
  }
  ASSERT_TRUE(node_.flush("t"));
  const auto bytes = static_cast<double>(figures().bytes);
  pass_exactly(50 * kMinuteUs);
  EXPECT_NEAR(static_cast<double>(figures().dead_bytes), 0.5 * bytes, 0.05 * bytes);
  EXPECT_EQ(compactions(), 0u);
  pass_exactly(40 * kMinuteUs);  // 90: 25 are overdue, 10 live
  EXPECT_GE(compactions(), 1u);
  EXPECT_LE(static_cast<double>(figures().overdue_bytes),
            0.1 * static_cast<double>(figures().live_bytes) + 100);
}

TEST_F(Reclaim, WhatNewerCellsKilledLeavesInTime) {
  create(RetentionRule::max_versions(1));
  for (int64_t i = 0; i < 100; ++i) set(fmt::format("row{:02}", i), now_us() + i);
  ASSERT_TRUE(node_.flush("t"));
  pass_exactly(10 * kMinuteUs);
  for (int64_t i = 0; i < 50; ++i) set(fmt::format("row{:02}", i), now_us() + i);
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(tables(), 2u);
  const auto dead = static_cast<double>(figures().dead_bytes);
  EXPECT_NEAR(dead, static_cast<double>(figures().bytes) / 3, dead / 2);
  EXPECT_EQ(figures().overdue_bytes, 0u);
  pass(kHourUs + 6 * kMinuteUs);
  EXPECT_EQ(compactions(), 1u);
  EXPECT_EQ(tables(), 1u);
  EXPECT_EQ(figures().dead_bytes, 0u);
  EXPECT_EQ(node_.cells("t").size(), 100u);
}

TEST_F(Reclaim, NewRowsKillNothing) {
  create(RetentionRule::max_versions(1));
  for (int64_t i = 0; i < 100; ++i) set(fmt::format("row{:02}", i), now_us() + i);
  ASSERT_TRUE(node_.flush("t"));
  for (int64_t i = 0; i < 100; ++i) set(fmt::format("row{:02}new", i), now_us() + i);
  ASSERT_TRUE(node_.flush("t"));
  pass(3 * kHourUs);
  EXPECT_EQ(compactions(), 0u);
}

TEST_F(Reclaim, WhatADeleteCoversLeavesInTimeThoughItIsOnlyInMemory) {
  create(RetentionRule{});
  for (int64_t i = 0; i < 100; ++i) set(fmt::format("row{:02}", i), now_us());
  ASSERT_TRUE(node_.flush("t"));
  ASSERT_TRUE(node_.drop_rows("t", "row3", "row9"));
  pass(2 * kHourUs);
  EXPECT_EQ(figures().overdue_bytes, 0u);
  EXPECT_EQ(compactions(), 1u);
  EXPECT_EQ(node_.cells("t").size(), 40u);
}

TEST_F(Reclaim, CellsOfADroppedFamilyLeaveInTime) {
  create(RetentionRule{});
  engine::TableChange change;
  change.name = "t";
  change.add.push_back({.name = "g"});
  ASSERT_TRUE(node_.alter_table(change));
  for (int64_t i = 0; i < 100; ++i) {
    const std::string row = fmt::format("row{:02}", i);
    ASSERT_TRUE(node_.write("t", row, {set_cell(i % 2 == 0 ? "f:q" : "g:q", now_us(), "value")}));
  }
  ASSERT_TRUE(node_.flush("t"));
  const auto bytes = static_cast<double>(figures().bytes);
  EXPECT_EQ(figures().dead_bytes, 0u);
  engine::TableChange drop;
  drop.name = "t";
  drop.drop = {"g"};
  ASSERT_TRUE(node_.alter_table(drop));
  EXPECT_NEAR(static_cast<double>(figures().dead_bytes), 0.5 * bytes, 0.1 * bytes);
  pass(kHourUs + 6 * kMinuteUs);
  EXPECT_EQ(figures().dead_bytes, 0u);
  EXPECT_EQ(compactions(), 1u);
}

// It sleeps until something is due: a few checks an hour, however much is dead.
TEST_F(Reclaim, DoesNotSpin) {
  create(RetentionRule::union_of(
      {RetentionRule::max_age_us(2 * kHourUs), RetentionRule::max_versions(1)}));
  fill_evenly();
  set("row50", now_us() + 1);
  ASSERT_TRUE(node_.flush("t"));
  set("row51", now_us() + 1);
  const uint64_t before = node_.stats().reclaim_turns;
  for (int hour = 0; hour < 20; ++hour) pass_exactly(kHourUs);
  EXPECT_LT(node_.stats().reclaim_turns - before, 20u * 10);
}

// ---- tables that need not be read

TEST_F(Reclaim, AWhollyDeadTableIsNotReadThoughItIsStillThere) {
  create(RetentionRule::max_age_us(kHourUs));
  set("a", now_us());
  ASSERT_TRUE(node_.flush("t"));
  pass_exactly(kHourUs / 2);
  set("b", now_us());
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(entries_read(), 2u);
  pass_exactly(kHourUs / 2 + 100'000'000);
  EXPECT_EQ(tables(), 2u);
  EXPECT_EQ(node_.cells("t").size(), 1u);
  EXPECT_EQ(entries_read(), 1u);
  // A looser rule does not revive a dead cell.
  engine::TableChange change;
  change.name = "t";
  change.alter.push_back({.name = "f", .rule = RetentionRule::max_age_us(9 * kHourUs)});
  ASSERT_TRUE(node_.alter_table(change));
  EXPECT_EQ(node_.cells("t").size(), 1u);
}

TEST_F(Reclaim, ADeadTableThatMasksSomethingIsRead) {
  create(RetentionRule{});
  set("a", 5);
  ASSERT_TRUE(node_.flush("t"));
  set("a", 5, now_us() + kHourUs);
  set("b", 6, now_us() + kHourUs);
  ASSERT_TRUE(node_.flush("t"));
  set("c", 9, now_us() + kHourUs);  // overwrites no cell
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(entries_read(), 4u);
  pass_exactly(kHourUs + 100'000'000);
  EXPECT_EQ(entries_read(), 3u);
  EXPECT_TRUE(node_.cells("t").empty());
}

TEST_F(Reclaim, AnExpiryInAMemtableMakesADeadTableCountAgain) {
  create(RetentionRule::union_of(
      {RetentionRule::max_age_us(kHourUs), RetentionRule::max_versions(1)}));
  const int64_t born_us = now_us();
  set("a", born_us);
  ASSERT_TRUE(node_.flush("t"));
  set("a", born_us - 1, now_us() + 9 * kHourUs);  // displaced when written
  pass_exactly(kHourUs + 100'000'000);
  EXPECT_TRUE(node_.cells("t").empty());
  EXPECT_EQ(entries_read(), 2u);
}

// ---- how much of the disk reclaiming may take

class SlowReclaim : public Reclaim {
 protected:
  SlowReclaim() : Reclaim(slow()) {}
  static TestNodeOptions slow() {
    TestNodeOptions options = Reclaim::options();
    options.min_latency_us = options.max_latency_us = 50'000;
    return options;
  }
};

TEST_F(SlowReclaim, RestsSoThatItTakesItsShareOfTheTime) {
  create(RetentionRule::max_age_us(kHourUs));
  set_options({}, 0.001);
  set("a", now_us());
  set("z", now_us());
  ASSERT_TRUE(node_.split(node_.table("t")->tablets.front().id, "m"));
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(node_.figures("t").size(), 2u);
  const auto left = [this] {
    uint64_t tables = 0;
    for (const auto& tablet : node_.figures("t")) tables += tablet.tables;
    return tables;
  };
  EXPECT_EQ(left(), 2u);
  pass_exactly(kHourUs + 302'000'000);  // the margin is 5 min
  EXPECT_EQ(left(), 1u) << "one is gone, which took a while, and the other has to wait";
  pass(kHourUs / 2);
  EXPECT_EQ(left(), 0u);
}

}  // namespace
}  // namespace cellar::support
