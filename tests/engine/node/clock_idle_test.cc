// Anchors are renewed while requests need the time, otherwise once an hour.
#include <gtest/gtest.h>

#include "tests/engine/node/clock_bed.h"

namespace cellar::engine {
namespace {

using support::set_cell;

class ClockIdle : public support::ClockBed {
 protected:
  void pass(int64_t us) { node_->world().run_for_us(us); }
  // Counts writes to the manifest from now on; an edit makes at most two.
  void count_writes() {
    faults_.clear();
    ASSERT_TRUE(faults_.add("write path=manifest/* delay_us=1"));
  }
  uint64_t writes() { return faults_.hits(); }
};

TEST_F(ClockIdle, AnIdleNodeWritesAnAnchorAnHour) {
  ASSERT_TRUE(node_->set("t", "a", "f:q", 1, "v"));
  pass(10 * kSecondUs);
  count_writes();
  pass(12 * kHourUs);
  EXPECT_GE(writes(), 11u);
  EXPECT_LE(writes(), 2u * 13);
}

TEST_F(ClockIdle, WhoeverOnlyLooksCausesNone) {
  pass(10 * kSecondUs);
  count_writes();
  for (int i = 0; i < 500; ++i) {
    pass(kSecondUs);
    const ClockReport report = node_->clock_report();
    EXPECT_EQ(report.trusted_us, clock().wall_us());
    EXPECT_EQ(report.lag_us, 0);
    EXPECT_EQ(report.held_us, 0);
    (void)node_->stats();
    (void)node_->figures("t");
  }
  EXPECT_EQ(writes(), 0u);
}

TEST_F(ClockIdle, TheFirstRequestAfterAnHourWaitsForOneAnchor) {
  for (const char* row : {"a", "z"}) {
    std::vector<support::OwnedMutation> ops = {set_cell("f:q", 1, "v")};
    ops[0].expire_at_us = clock().wall_us() + kHourUs / 2;
    ASSERT_TRUE(node_->write("t", row, ops));
    pass(kHourUs * 9 / 10);
    const int64_t before_us = clock().wall_us();
    const auto read = node_->read_row("t", row);
    ASSERT_TRUE(read);
    EXPECT_TRUE(read->empty()) << "it died half an hour ago";
    EXPECT_LT(clock().wall_us() - before_us, kSecondUs / 10);
  }
}

TEST_F(ClockIdle, AWriteAfterAnHourIsStampedNow) {
  pass(kHourUs * 9 / 10);
  const auto stamp = node_->set("t", "z", "f:q", 1, "v");
  ASSERT_TRUE(stamp);
  EXPECT_GE(static_cast<int64_t>(stamp->value() / 1000), clock().wall_us() - kSecondUs / 10);
}

TEST_F(ClockIdle, WhoAsksAllTheTimeNeverWaitsAndTimeNeverStands) {
  for (int i = 0; i < 600; ++i) {
    pass(kSecondUs / 10);
    for (const char* row : {"a", "z"}) {
      EXPECT_FALSE(node_->shard(0).clock().stands()) << i;
      ASSERT_TRUE(node_->read_row("t", row));
    }
    EXPECT_EQ(node_->shard(1).clock().now_us(), clock().wall_us()) << i;
  }
}

TEST_F(ClockIdle, AfterTheLastRequestRenewalsEnd) {
  ASSERT_TRUE(node_->read_row("t", "z"));
  pass(2 * EngineOptions().clock_renew_us);
  count_writes();
  pass(kHourUs / 2);
  EXPECT_EQ(writes(), 0u);
}

// Otherwise a boot would make a gap of it.
TEST_F(ClockIdle, AStepOfTheWallClockIsRecordedWithinAMinute) {
  pass(10 * kSecondUs);
  const int64_t real_us = clock().wall_us();
  count_writes();
  clock().set_wall_us(real_us + 400 * kHourUs);
  pass(61 * kSecondUs);
  EXPECT_GE(writes(), 1u);
  EXPECT_LE(writes(), 2u);
  node_->crash(CrashPolicy::none);
  node_->machine_clock().set_boot("another", 5 * kSecondUs);
  ASSERT_TRUE(node_->reopen());
  EXPECT_NEAR(node_->clock_report().trusted_us, real_us + 61 * kSecondUs, 3 * kSecondUs);
  pass(10 * kSecondUs);
  count_writes();
  pass(12 * kHourUs);
  EXPECT_LE(writes(), 2u * 13) << "what is held is recorded";
}

TEST_F(ClockIdle, AnOrderlyEndRecordsAStepOfTheWallClock) {
  pass(10 * kSecondUs);
  const int64_t real_us = clock().wall_us();
  clock().set_wall_us(real_us + 400 * kHourUs);
  ASSERT_TRUE(node_->close());
  node_->machine_clock().set_boot("another", 5 * kSecondUs);
  ASSERT_TRUE(node_->reopen());
  EXPECT_NEAR(node_->clock_report().trusted_us, real_us, 3 * kSecondUs);
}

TEST_F(ClockIdle, AGapIsReportedAsPassedOnceTheClockIsSynchronised) {
  node_->crash(CrashPolicy::none);
  node_->machine_clock().set_boot("another", 5 * kSecondUs);
  node_->machine_clock().set_synchronised(false);
  node_->machine_clock().advance_us(5 * kHourUs);
  ASSERT_TRUE(node_->reopen());
  pass(10 * kSecondUs);
  EXPECT_NEAR(node_->clock_report().held_us, 5 * kHourUs, 11 * kSecondUs);
  clock().set_synchronised(true);
  const ClockReport report = node_->clock_report();
  EXPECT_EQ(report.held_us, 0);
  EXPECT_EQ(report.trusted_us, clock().wall_us()) << "a request waits for the anchor";
  ASSERT_TRUE(node_->read_row("t", "a"));
  EXPECT_EQ(node_->shard(0).clock().now_us(), clock().wall_us());
}

TEST_F(ClockIdle, AJumpIsReportedToEndTheSteadiness) {
  pass(kHourUs / 2);
  EXPECT_NEAR(node_->clock_report().steady_us, kHourUs / 2, 10 * kSecondUs);
  clock().set_wall_us(clock().wall_us() + 400 * kHourUs);
  EXPECT_EQ(node_->clock_report().steady_us, 0);
}

// Trusted time stands, but dead cells leave memory and disk within the deadline.
TEST_F(ClockIdle, WhatDiesOnAnIdleNodeIsReclaimedInTime) {
  TableOptions options;
  options.reclaim_within_us = 60 * kSecondUs;
  ASSERT_TRUE(node_->create_table("d", {"f"}, {}, options));
  for (int i = 0; i < 50; ++i) {
    std::vector<support::OwnedMutation> ops = {set_cell("f:q", 1, std::string(1000, 'v'))};
    ops[0].expire_at_us = clock().wall_us() + (i < 25 ? 200 : 900) * kSecondUs;
    ASSERT_TRUE(node_->write("d", "r" + std::to_string(i), ops));
    if (i == 24) ASSERT_TRUE(node_->flush("d"));
  }
  pass(5 * kSecondUs);
  count_writes();
  // Margin 5 min, deadline 1 min, and time for the check.
  pass(900 * kSecondUs + 300 * kSecondUs + 90 * kSecondUs);
  uint64_t bytes = 0;
  for (const TabletFigures& one : node_->figures("d")) bytes += one.bytes + one.unflushed_bytes;
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(node_->stats().memtable_bytes, 0u);
  EXPECT_LE(writes(), 60u) << "it renews only where something is due";
  count_writes();
  pass(12 * kHourUs);
  EXPECT_LE(writes(), 2u * 13);
}

TEST_F(ClockIdle, ADroppedTableEndsInTime) {
  ASSERT_TRUE(node_->drop_table("t"));
  ASSERT_EQ(node_->dropped_tables().size(), 1u);
  pass(24 * kHourUs + 300 * kSecondUs + 60 * kSecondUs);
  EXPECT_EQ(node_->dropped_tables().size(), 0u);
}

}  // namespace
}  // namespace cellar::engine
