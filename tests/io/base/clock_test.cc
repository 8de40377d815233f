#include "io/base/clock.h"

#include <gtest/gtest.h>

#include "io/base/random.h"
#include "io/base/trusted_clock.h"
#include "io/sim/manual_clock.h"
#include "tests/support/seeds.h"

namespace cellar {
namespace {

constexpr int64_t kNow = 1'700'000'000'000'000;
constexpr int64_t kHour = 3'600'000'000;

TEST(SystemClock, ReadsThisCenturyAndDoesNotGoBack) {
  const SystemClock clock;
  EXPECT_GT(clock.wall_us(), 1'577'836'800'000'000);  // 2020
  const int64_t first = clock.boot_us();
  EXPECT_LE(first, clock.boot_us());
}

TEST(TrustedClock, FollowsTheWallWhileBothPassTogether) {
  ManualClock machine(kNow, 5);
  TrustedClock clock(machine);
  EXPECT_EQ(clock.now_us(), kNow);
  machine.advance_us(kHour);
  EXPECT_EQ(clock.now_us(), kNow + kHour);
  EXPECT_EQ(clock.held_us(), 0);
}

TEST(TrustedClock, WallJumpingAheadIsHeldBackToBootTimePlusDrift) {
  ManualClock machine(kNow);
  TrustedClock clock(machine);
  machine.set_wall_us(kNow + 1'000 * kHour);
  EXPECT_EQ(clock.now_us(), kNow);
  EXPECT_EQ(clock.held_us(), 1'000 * kHour);
  machine.advance_us(kHour);
  EXPECT_EQ(clock.now_us(), kNow + kHour + kHour * TrustedClock::kDriftPpm / 1'000'000);
}

TEST(TrustedClock, WallJumpingBackStopsItUntilTheWallHasCaughtUp) {
  ManualClock machine(kNow);
  TrustedClock clock(machine);
  machine.advance_us(kHour);
  ASSERT_EQ(clock.now_us(), kNow + kHour);
  machine.set_wall_us(kNow);
  EXPECT_EQ(clock.now_us(), kNow + kHour);
  machine.advance_us(kHour / 2);
  EXPECT_EQ(clock.now_us(), kNow + kHour);
  machine.advance_us(kHour);
  EXPECT_EQ(clock.now_us(), kNow + kHour + kHour / 2);
}

TEST(TrustedClock, ARaisedReadingHoldsAndTheBoundsStay) {
  ManualClock machine(kNow);
  TrustedClock clock(machine);
  clock.anchor({.trusted_us = kNow, .boot_us = 0, .permitted_us = kNow + 2'000});
  clock.raise(kNow + 500);
  EXPECT_EQ(clock.now_us(), kNow + 500);
  clock.raise(kNow);
  EXPECT_EQ(clock.now_us(), kNow + 500);
  machine.set_wall_us(kNow + kHour);
  machine.advance_us(400);
  EXPECT_EQ(clock.now_us(), kNow + 500) << "the line still begins at the anchor";
  machine.advance_us(600);
  EXPECT_EQ(clock.now_us(), kNow + 1'000);
  machine.advance_us(5'000);
  EXPECT_EQ(clock.now_us(), kNow + 2'000) << "nothing more is permitted";
}

TEST(TrustedClock, ALaterAnchorRaisesIt) {
  ManualClock machine(kNow, 0);
  TrustedClock clock(machine);
  clock.anchor({.trusted_us = kNow, .boot_us = 0});
  machine.set_wall_us(kNow - kHour);
  EXPECT_EQ(clock.now_us(), kNow);
  clock.anchor({.trusted_us = kNow + 70, .boot_us = 0});
  EXPECT_EQ(clock.now_us(), kNow + 70) << "another clock of the node has read this";
}

TEST(TrustedClock, ALineBeginsAtTheReadingWhateverTheWallDoesNext) {
  ManualClock machine(kNow, 0);
  TrustedClock clock(machine);
  machine.advance_us(kHour);
  machine.set_wall_us(kNow + 5);
  const ClockPoint point = clock.begin_line();
  EXPECT_EQ(point.trusted_us, kNow + 5);
  EXPECT_EQ(point.boot_us, kHour);
  machine.set_wall_us(kNow + 2 * kHour);
  EXPECT_EQ(clock.now_us(), kNow + 5);
  machine.advance_us(10);
  EXPECT_EQ(clock.now_us(), kNow + 15);
}

TEST(TrustedClock, GoesOnFromAnAnchorAndNotPastWhatItPermits) {
  ManualClock machine(kNow, 0);
  TrustedClock clock(machine);
  machine.set_wall_us(kNow + 3 * kHour);
  clock.anchor({.trusted_us = kNow + kHour, .boot_us = 0, .permitted_us = kNow + kHour + 10});
  EXPECT_EQ(clock.now_us(), kNow + kHour);
  EXPECT_EQ(clock.held_us(), 2 * kHour);
  machine.advance_us(4);
  EXPECT_EQ(clock.now_us(), kNow + kHour + 4);
  machine.advance_us(kHour);
  EXPECT_EQ(clock.now_us(), kNow + kHour + 10);
  clock.anchor({.trusted_us = kNow, .boot_us = 0, .permitted_us = kNow + 1});
  EXPECT_EQ(clock.now_us(), kNow + kHour + 10) << "an older anchor does not turn it back";
}

TEST(TrustedClock, TheFirstWhoAsksAfterAnAnchorTellsTheListener) {
  ManualClock machine(kNow, 0);
  TrustedClock clock(machine);
  clock.ask_us();  // there is no listener yet
  int told = 0;
  clock.on_asked([](void* context) { ++*static_cast<int*>(context); }, &told);
  EXPECT_EQ(clock.now_us(), kNow);
  EXPECT_EQ(told, 0) << "who only looks tells nobody";
  EXPECT_EQ(clock.ask_us(), kNow);
  EXPECT_EQ(clock.ask_us(), kNow);
  EXPECT_EQ(told, 1);
  clock.anchor({.trusted_us = kNow, .boot_us = 0, .permitted_us = kNow + 10});
  clock.ask_us();
  EXPECT_EQ(told, 2);
}

TEST(TrustedClock, StandsWhereNothingMoreIsPermittedAndKnowsWhatAnAnchorWouldGive) {
  ManualClock machine(kNow, 0);
  TrustedClock clock(machine);
  clock.anchor({.trusted_us = kNow, .boot_us = 0, .permitted_us = kNow + 1'000});
  machine.advance_us(1'000);
  EXPECT_FALSE(clock.stands());
  EXPECT_EQ(clock.expected_us(), kNow + 1'000);
  machine.advance_us(1);
  EXPECT_TRUE(clock.stands());
  EXPECT_EQ(clock.now_us(), kNow + 1'000);
  EXPECT_EQ(clock.expected_us(), kNow + 1'001);
  EXPECT_EQ(clock.held_us(), 0);
  machine.set_wall_us(kNow - kHour);
  EXPECT_FALSE(clock.stands()) << "an anchor would change nothing";
  EXPECT_EQ(clock.expected_us(), kNow + 1'000) << "it does not go back";
}

// A renewal begins a line on every clock before its anchor is durable. A request at that moment
// must still wait for the anchor.
TEST(TrustedClock, ALineBegunWhereItStandsDoesNotEndThat) {
  ManualClock machine(kNow, 0);
  TrustedClock clock(machine);
  clock.anchor({.trusted_us = kNow, .boot_us = 0, .permitted_us = kNow + 1'000});
  machine.advance_us(kHour);
  EXPECT_TRUE(clock.stands());
  clock.begin_line();
  EXPECT_TRUE(clock.stands());
  machine.advance_us(1);
  EXPECT_TRUE(clock.stands());
  clock.anchor({.trusted_us = kNow + kHour, .boot_us = kHour, .permitted_us = kNow + 2 * kHour});
  EXPECT_FALSE(clock.stands());
}

TEST(TrustedClock, ItsArithmeticSaturates) {
  EXPECT_EQ(with_drift_us(INT64_MAX), INT64_MAX);
  ManualClock machine(INT64_MAX, 0);
  TrustedClock clock(machine);
  clock.anchor({.trusted_us = INT64_MAX - 10, .boot_us = 0, .permitted_us = INT64_MAX - 5});
  machine.set_boot("simulated", kHour);
  EXPECT_TRUE(clock.stands());
  EXPECT_EQ(clock.now_us(), INT64_MAX - 5);
  machine.set_wall_us(INT64_MIN);
  EXPECT_EQ(clock.now_us(), INT64_MAX - 5);
  EXPECT_EQ(clock.held_us(), 0);
}

TEST(TrustedClock, UnderRandomJumpsNeverGoesBackNorOutrunsBootTime) {
  for (const uint64_t seed : test_seeds(50)) {
    Random random(seed);
    ManualClock machine(kNow, static_cast<int64_t>(random.below(1'000'000'000)));
    TrustedClock clock(machine);
    int64_t trusted = clock.now_us();
    int64_t boot = machine.boot_us();
    for (int step = 0; step < 200; ++step) {
      if (random.one_in(3)) {
        const auto jump = static_cast<int64_t>(random.below(20 * kHour)) - 10 * kHour;
        machine.set_wall_us(machine.wall_us() + jump);
      }
      machine.advance_us(static_cast<int64_t>(random.below(kHour)));
      const int64_t now = clock.now_us();
      const int64_t passed = machine.boot_us() - boot;
      ASSERT_GE(now, trusted) << "seed " << seed << " step " << step;
      trusted = now;
      // Counted from its anchor, not from the last reading: it may make up for the time it was
      // held.
      ASSERT_LE(now, kNow + passed + passed * TrustedClock::kDriftPpm / 1'000'000 + 1)
          << "seed " << seed << " step " << step;
    }
  }
}

}  // namespace
}  // namespace cellar
