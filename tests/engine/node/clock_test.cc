// Trusted time across restarts of a whole node.
#include <gtest/gtest.h>

#include "engine/node/clock_keeper.h"
#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::engine {
namespace {

using support::TestNode;
using support::TestNodeOptions;

TestNodeOptions real_permission() {
  TestNodeOptions options;
  options.shards = 2;
  options.engine.clock_permit_us = 10 * kSecondUs;
  return options;
}

TEST(NodeClock, AKillDoesNotTurnItBackAndTheBootClockCarriesItOn) {
  TestNode node(real_permission());
  const int64_t start_us = node.clock_report().trusted_us;
  node.world().clock().advance_us(kHourUs);
  EXPECT_EQ(node.clock_report().trusted_us, start_us + 10 * kSecondUs) << "no anchor permits more";
  ASSERT_TRUE(node.renew_clock());
  EXPECT_EQ(node.clock_report().trusted_us, start_us + kHourUs);
  node.world().clock().advance_us(kHourUs);
  node.kill();
  ASSERT_TRUE(node.reopen());
  EXPECT_EQ(node.clock_report().trusted_us, start_us + 2 * kHourUs);
}

TEST(NodeClock, AJumpAheadIsHeldOverAKillUntilAnOperatorReleasesIt) {
  TestNode node(real_permission());
  const int64_t start_us = node.clock_report().trusted_us;
  node.world().clock().set_wall_us(start_us + 400 * kHourUs);
  ASSERT_TRUE(node.renew_clock());
  EXPECT_EQ(node.clock_report().held_us, 400 * kHourUs);
  node.kill();
  ASSERT_TRUE(node.reopen());
  EXPECT_EQ(node.clock_report().trusted_us, start_us);
  EXPECT_EQ(node.clock_report().held_us, 400 * kHourUs);
  ASSERT_TRUE(node.release_held_time());
  EXPECT_EQ(node.clock_report().held_us, 0);
  EXPECT_EQ(node.clock_report().trusted_us, start_us + 400 * kHourUs);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen());
  EXPECT_EQ(node.clock_report().trusted_us, start_us + 400 * kHourUs);
}

TEST(NodeClock, AnotherBootBelievesThreeDaysAtMost) {
  TestNode node(real_permission());
  const int64_t start_us = node.clock_report().trusted_us;
  node.world().clock().set_boot("another", 5 * kSecondUs);
  node.world().clock().set_wall_us(start_us + 100 * kHourUs);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen());
  EXPECT_EQ(node.clock_report().trusted_us, start_us + 72 * kHourUs);
}

// A kernel that calls a wrong clock synchronised, over and over.
TEST(NodeClock, OverManyBootsHeldTimeStaysHeld) {
  TestNode node(real_permission());
  const int64_t start_us = node.clock_report().trusted_us;
  node.world().clock().set_wall_us(start_us + 400 * kHourUs);
  ASSERT_TRUE(node.renew_clock());
  for (int boot = 1; boot <= 5; ++boot) {
    node.crash(CrashPolicy::none);
    node.machine_clock().advance_us(60 * kSecondUs);
    node.machine_clock().set_boot("boot " + std::to_string(boot), 5 * kSecondUs);
    ASSERT_TRUE(node.reopen());
    EXPECT_NEAR(node.clock_report().trusted_us, start_us + boot * 60 * kSecondUs, kSecondUs);
    EXPECT_NEAR(node.clock_report().held_us, 400 * kHourUs, kSecondUs);
  }
}

TEST(NodeClock, AMachineWithoutABatteryClockIsBelievedWhenItIsSynchronised) {
  TestNode node(real_permission());
  const int64_t start_us = node.clock_report().trusted_us;
  node.crash(CrashPolicy::none);
  ManualClock& machine = node.machine_clock();
  machine.set_boot("another", 20 * kSecondUs);
  machine.set_wall_us(20 * kSecondUs);
  machine.set_synchronised(false);
  ASSERT_TRUE(node.reopen());
  EXPECT_EQ(node.clock_report().trusted_us, start_us + 10 * kSecondUs);
  ASSERT_TRUE(node.renew_clock());
  ASSERT_TRUE(node.release_held_time()) << "nothing is held yet";
  node.kill();
  machine.set_wall_us(start_us + 5 * kHourUs);
  machine.set_synchronised(true);
  ASSERT_TRUE(node.reopen());
  EXPECT_NEAR(node.clock_report().trusted_us, start_us + 5 * kHourUs, kSecondUs);
  EXPECT_EQ(node.clock_report().held_us, 0);
}

// The machine is back before the permission ends: real time has not reached its end yet.
TEST(NodeClock, AfterAQuickRebootNothingDiesEarlyAndNothingComesBack) {
  for (const bool synchronised : {true, false}) {
    SCOPED_TRACE(synchronised);
    TestNode node(real_permission());
    const int64_t start_us = node.clock_report().trusted_us;
    node.world().clock().advance_us(3 * kSecondUs);
    const int64_t answered_us = node.clock_report().trusted_us;
    node.world().clock().set_boot("another", kSecondUs);
    node.world().clock().set_wall_us(start_us + 4 * kSecondUs);
    node.world().clock().set_synchronised(synchronised);
    node.crash(CrashPolicy::none);
    ASSERT_TRUE(node.reopen());
    EXPECT_GE(node.clock_report().trusted_us, answered_us);
    EXPECT_LE(node.clock_report().trusted_us, node.world().clock().wall_us());
    EXPECT_LE(node.world().clock().wall_us(), start_us + 13 * kSecondUs + kSecondUs / 10);
  }
}

TEST(NodeClock, ManyQuickRebootsDoNotAddUp) {
  TestNode node(real_permission());
  for (int i = 0; i < 20; ++i) {
    node.world().clock().set_boot("boot " + std::to_string(i), 0);
    node.world().clock().advance_us(kSecondUs / 10);
    node.crash(CrashPolicy::none);
    ASSERT_TRUE(node.reopen());
    ASSERT_LE(node.clock_report().trusted_us, node.world().clock().wall_us()) << i;
  }
}

// A permission longer than any version of the program grants.
TEST(NodeClock, AStartDoesNotWaitForEver) {
  TestNodeOptions options = real_permission();
  options.engine.clock_permit_us = 24 * kHourUs;
  TestNode node(options);
  const int64_t start_us = node.clock_report().trusted_us;
  node.world().clock().set_boot("another", kSecondUs);
  node.crash(CrashPolicy::none);
  ASSERT_TRUE(node.reopen());
  EXPECT_EQ(node.clock_report().trusted_us, start_us + 24 * kHourUs) << "nothing comes back";
  EXPECT_LE(node.world().clock().wall_us(), start_us + ClockKeeper::kMaxStartWaitUs + kSecondUs);
}

TEST(NodeClock, ItRenewsByItself) {
  TestNodeOptions options = real_permission();
  options.engine.clock_renew_us = 4 * kSecondUs;
  TestNode node(options);
  const int64_t start_us = node.clock_report().trusted_us;
  node.world().run_for_us(kHourUs);
  EXPECT_GE(node.clock_report().trusted_us, start_us + kHourUs);
  ASSERT_TRUE(node.close());
}

}  // namespace
}  // namespace cellar::engine
