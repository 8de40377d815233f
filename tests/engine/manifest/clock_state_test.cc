#include "engine/manifest/clock_state.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>

#include "io/base/random.h"
#include "io/sim/manual_clock.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kHour = 3'600 * kSecond;
constexpr int64_t kNoon = 1'700'000'000 * kSecond;

// A node that has run for a while: anchored at noon, at boot time 50 s.
ClockState saved() {
  return first_state({.boot_id = "one", .boot_us = 50 * kSecond, .wall_us = kNoon}, {});
}
ClockReading same_boot(int64_t passed_us, int64_t wall_us) {
  return {.boot_id = "one", .boot_us = 50 * kSecond + passed_us, .wall_us = wall_us};
}
ClockReading other_boot(int64_t wall_us, bool synchronised = true) {
  return {
      .boot_id = "two", .boot_us = 9 * kSecond, .wall_us = wall_us, .synchronised = synchronised};
}

// As a start finds it.
ClockState reread(const ClockState& state) {
  const auto back = decode_clock_state(encode_clock_state(state));
  EXPECT_TRUE(back);
  return back.value_or(ClockState());
}

TEST(ClockState, ANewDirectoryBelievesTheWall) {
  EXPECT_EQ(saved().trusted_us, kNoon);
  EXPECT_EQ(saved().permitted_us, kNoon + ClockRules().permit_us);
}

TEST(ClockState, ComesBackFromItsBytes) {
  ClockState state = saved();
  state.believable_us = 7;
  const auto back = decode_clock_state(encode_clock_state(state));
  ASSERT_TRUE(back);
  EXPECT_EQ(*back, state);
  const std::string bytes = encode_clock_state(state);
  for (size_t n = 0; n < bytes.size(); ++n) {
    EXPECT_FALSE(decode_clock_state(Bytes(bytes).substr(0, n))) << n;
  }
}

TEST(ClockState, AGapThatIsNotMeasuredComesBackFromItsBytes) {
  ClockState state = renewed(saved(), kNoon + kHour, same_boot(kHour, kNoon + 241 * kHour), {});
  state = state_after_start(state, other_boot(9 * kSecond, false), {});
  EXPECT_EQ(state.believable_us, kNoon + 73 * kHour);
  EXPECT_EQ(state.held_before_us, 240 * kHour);
  EXPECT_EQ(reread(state), state);
}

TEST(ClockState, WithinOneBootTimeGoesOnAsIfTheNodeHadRun) {
  const auto days = 40 * 24 * kHour;
  EXPECT_EQ(state_after_start(saved(), same_boot(days, kNoon + days), {}).trusted_us, kNoon + days);
  EXPECT_EQ(state_after_start(saved(), same_boot(0, kNoon), {}).trusted_us, kNoon);
}

TEST(ClockState, WithinOneBootAJumpAheadIsHeld) {
  const ClockState state = state_after_start(saved(), same_boot(kHour, kNoon + 400 * kHour), {});
  EXPECT_EQ(state.trusted_us, kNoon + with_drift_us(kHour));
}

TEST(ClockState, WithinOneBootAJumpBackUndercutsNothingThatWasAnswered) {
  // Answers may be as late as the permission, or as the boot-time clock if that is earlier.
  EXPECT_EQ(state_after_start(saved(), same_boot(kHour, kNoon - kHour), {}).trusted_us,
            saved().permitted_us);
  EXPECT_EQ(state_after_start(saved(), same_boot(kSecond, kNoon - kHour), {}).trusted_us,
            kNoon + with_drift_us(kSecond));
}

// The wall clock was ahead for a while, and answers were as late as the boot-time clock allowed.
TEST(ClockState, WithinOneBootAClockThatIsRightAgainUndercutsNothingThatWasAnswered) {
  EXPECT_EQ(state_after_start(saved(), same_boot(kSecond, kNoon + kSecond), {}).trusted_us,
            kNoon + with_drift_us(kSecond));
}

TEST(ClockState, OverABootTheGapIsBelievedUpToItsBound) {
  const ClockRules rules;
  EXPECT_EQ(state_after_start(saved(), other_boot(kNoon + 5 * kHour), rules).trusted_us,
            kNoon + 5 * kHour);
  EXPECT_EQ(
      state_after_start(saved(), other_boot(kNoon + rules.max_trusted_gap_us), rules).trusted_us,
      kNoon + rules.max_trusted_gap_us);
  const auto state = state_after_start(saved(), other_boot(kNoon + 96 * kHour), rules);
  EXPECT_EQ(state.trusted_us, kNoon + 72 * kHour) << "24 h are held";
}

TEST(ClockState, OverABootNothingIsBelievedUntilTheClockIsSynchronised) {
  const ClockRules rules;
  auto state = state_after_start(saved(), other_boot(kNoon + 5 * kHour, false), rules);
  EXPECT_EQ(state.trusted_us, saved().permitted_us);
  ClockReading now = other_boot(kNoon + 5 * kHour + kSecond, false);
  now.boot_us += kSecond;
  state = renewed(state, state.trusted_us + kSecond, now, rules);
  EXPECT_EQ(state.trusted_us, saved().permitted_us + kSecond);
  now.synchronised = true;
  state = renewed(state, state.trusted_us, now, rules);
  EXPECT_EQ(state.trusted_us, now.wall_us);
  EXPECT_EQ(state.believable_us, 0);
}

TEST(ClockState, OverABootAClockThatWentBackStandsStill) {
  EXPECT_EQ(state_after_start(saved(), other_boot(kNoon - kHour), {}).trusted_us,
            saved().permitted_us);
}

// A machine without a battery clock, or with a slow one.
TEST(ClockState, OverABootAClockThatIsBehindUntilItIsSynchronisedIsBelieved) {
  for (const int64_t wall_us : {kNoon - kHour, int64_t{9 * kSecond}}) {
    ClockReading now = other_boot(wall_us, false);
    ClockState state = state_after_start(saved(), now, {});
    EXPECT_EQ(state.trusted_us, saved().permitted_us);
    now.boot_us += kSecond;
    now.wall_us += kSecond;
    state = renewed(state, state.trusted_us, now, {});
    EXPECT_EQ(state.trusted_us, saved().permitted_us);
    state = state_after_start(reread(state), now, {});
    now.boot_us += kSecond;
    now.wall_us = kNoon + 5 * kHour;
    state = renewed(reread(state), state.trusted_us, now, {});
    EXPECT_LE(state.trusted_us, saved().permitted_us + 3 * kSecond) << "it may be set and be wrong";
    now.synchronised = true;
    state = renewed(reread(state), state.trusted_us, now, {});
    EXPECT_EQ(state.trusted_us, now.wall_us);
  }
}

TEST(ClockState, OverABootAClockThatIsSynchronisedLateIsBelievedUpToTheBound) {
  const ClockRules rules;
  ClockReading now = other_boot(9 * kSecond, false);
  ClockState state = state_after_start(saved(), now, rules);
  now.boot_us += kHour;
  now.wall_us = kNoon + 100 * kHour;
  now.synchronised = true;
  state = renewed(state, state.trusted_us, now, rules);
  EXPECT_EQ(state.trusted_us, kNoon + 73 * kHour) << "the hour of this boot is no gap";
  now.boot_us += kSecond;
  now.wall_us += 50 * kHour;
  state = renewed(state, state.trusted_us + kSecond, now, rules);
  EXPECT_EQ(state.trusted_us, kNoon + 73 * kHour + kSecond) << "a gap is measured once";
}

// The wall clock is 240 h ahead, and the kernel calls it synchronised.
TEST(ClockState, OverAnyNumberOfBootsWhatWasHeldStaysHeld) {
  const int64_t lead_us = 240 * kHour;
  ClockState state = renewed(saved(), kNoon + kHour, same_boot(kHour, kNoon + lead_us + kHour), {});
  ASSERT_EQ(state.trusted_us, kNoon + kHour);
  int64_t real_us = kNoon + kHour;
  for (int boot = 0; boot < 10; ++boot) {
    real_us += 60 * kSecond;
    ClockReading now = other_boot(real_us + lead_us);
    now.boot_id = std::to_string(boot);
    state = state_after_start(reread(state), now, {});
    ASSERT_EQ(state.trusted_us, real_us) << "the minute that the boot took is believed";
    real_us += 60 * kSecond;
    now.boot_us += 60 * kSecond;
    now.wall_us += 60 * kSecond;
    state = renewed(reread(state), real_us, now, {});
    ASSERT_EQ(state.trusted_us, real_us);
  }
}

TEST(ClockState, AJumpOverABootIsBelievedUpToTheBoundOnce) {
  const ClockRules rules;
  int64_t wall_us = kNoon + 500 * kHour;
  ClockState state = state_after_start(saved(), other_boot(wall_us), rules);
  EXPECT_EQ(state.trusted_us, kNoon + 72 * kHour);
  for (int boot = 1; boot <= 3; ++boot) {
    wall_us += 10 * kSecond;
    ClockReading now = other_boot(wall_us);
    now.boot_id = std::to_string(boot);
    state = state_after_start(reread(state), now, rules);
    EXPECT_EQ(state.trusted_us, kNoon + 72 * kHour + boot * 10 * kSecond);
  }
}

// The battery clock lags behind the wall clock, which was ahead.
TEST(ClockState, AClockThatIsLessFarAheadAfterABootReleasesNothing) {
  ClockState state = renewed(saved(), kNoon + kHour, same_boot(kHour, kNoon + 241 * kHour), {});
  const int64_t permitted_us = state.permitted_us;
  ClockReading now = other_boot(kNoon + 241 * kHour - 5 * kSecond);
  state = state_after_start(reread(state), now, {});
  EXPECT_EQ(state.trusted_us, permitted_us);
  now.boot_id = "three";
  now.wall_us += 60 * kSecond;
  state = state_after_start(reread(state), now, {});
  EXPECT_LE(state.trusted_us, permitted_us + 60 * kSecond);
}

TEST(ClockState, WhatWasHeldStaysHeldOverABootThatBeginsBehind) {
  ClockState state = renewed(saved(), kNoon + kHour, same_boot(kHour, kNoon + 241 * kHour), {});
  ClockReading now = other_boot(9 * kSecond, false);
  state = state_after_start(reread(state), now, {});
  now.boot_us += 20 * kSecond;
  now.wall_us = kNoon + 241 * kHour + 60 * kSecond;
  now.synchronised = true;
  state = renewed(reread(state), state.trusted_us, now, {});
  EXPECT_EQ(state.trusted_us, kNoon + kHour + 60 * kSecond);
}

TEST(ClockState, BootsBeforeTheClockIsSynchronisedAreOneGap) {
  const ClockRules rules;
  for (const int64_t hours : {9, 200}) {
    ClockState state = state_after_start(saved(), other_boot(kNoon + 5 * kHour, false), rules);
    ClockReading now = other_boot(kNoon + 8 * kHour, false);
    for (const char* boot : {"three", "four"}) {
      now.boot_id = boot;
      state = state_after_start(reread(state), now, rules);
      EXPECT_LT(state.trusted_us, kNoon + 10 * kSecond);
    }
    now.boot_us += kSecond;
    now.wall_us = kNoon + hours * kHour;
    now.synchronised = true;
    state = renewed(reread(state), state.trusted_us, now, rules);
    const int64_t most_us = kNoon + rules.max_trusted_gap_us;
    EXPECT_GE(state.trusted_us, std::min(now.wall_us, most_us));
    EXPECT_LE(state.trusted_us, std::min(now.wall_us, most_us + 10 * kSecond));
  }
}

TEST(ClockState, AnOperatorWhoConfirmsAClockThatIsBehindEndsNoGap) {
  ClockReading now = other_boot(9 * kSecond, false);
  ClockState state = state_after_start(saved(), now, {});
  state = released(state, now, {});
  EXPECT_EQ(state.trusted_us, saved().permitted_us);
  now.wall_us = kNoon + 5 * kHour;
  now.synchronised = true;
  EXPECT_EQ(renewed(state, state.trusted_us, now, {}).trusted_us, now.wall_us);
}

// Whatever the boots are like: a wall clock that is right whenever the kernel says so is believed
// then, and one that is ahead since before these boots is never believed to be.
TEST(ClockState, OverRandomBootsTimeIsThatOfTheRealClock) {
  const ClockRules rules;
  for (const uint64_t seed : test_seeds(300)) {
    Random random(seed);
    const int64_t lead_us = random.one_in(2) ? 0 : static_cast<int64_t>(random.below(400 * kHour));
    int64_t real_us = kNoon + kSecond;
    ClockReading now = same_boot(kSecond, real_us + lead_us);
    ClockState state = renewed(saved(), real_us, now, rules);
    for (int step = 0; step < 60; ++step) {
      const bool boots = random.one_in(2);
      const auto passed_us = static_cast<int64_t>(random.below(boots ? 2 * kHour : 4 * kSecond));
      real_us += passed_us;
      now.boot_us += passed_us;
      if (boots) {
        real_us += 3 * kSecond;  // so that the permission is over
        now.boot_id = std::to_string(step);
        now.boot_us = static_cast<int64_t>(random.below(3 * kSecond));
        now.synchronised = false;
      }
      now.synchronised |= random.one_in(4);
      now.wall_us =
          now.synchronised ? real_us + lead_us : static_cast<int64_t>(random.below(2 * kNoon));
      if (boots || random.one_in(4)) {
        state = state_after_start(reread(state), now, rules);
      } else {
        state = renewed(state, std::min(now.wall_us, state.trusted_us + passed_us), now, rules);
      }
      const int64_t drift_us = (real_us - kNoon) / 2'000 + 1;
      ASSERT_LE(state.trusted_us, real_us + drift_us) << "seed " << seed << " step " << step;
      if (lead_us == 0 && now.synchronised)
        ASSERT_GE(state.trusted_us, real_us) << "seed " << seed << " step " << step;
    }
  }
}

TEST(ClockState, AQuickRebootWaitsForWhatIsLeftOfThePermission) {
  const int64_t permit_us = ClockRules().permit_us;
  ClockReading now = other_boot(kNoon - kHour, false);
  EXPECT_EQ(wait_after_boot_us(saved(), now), 0) << "the boot began longer ago than that";
  now.boot_us = kSecond / 2;
  const int64_t left_us = permit_us - kSecond / 2;
  EXPECT_GE(wait_after_boot_us(saved(), now), left_us);
  EXPECT_LE(wait_after_boot_us(saved(), now), left_us + kSecond / 1000);
  now.wall_us = kNoon + permit_us;
  EXPECT_GE(wait_after_boot_us(saved(), now), left_us) << "nobody says that this is right";
  now.synchronised = true;
  EXPECT_EQ(wait_after_boot_us(saved(), now), 0);
  --now.wall_us;
  EXPECT_GE(wait_after_boot_us(saved(), now), left_us);
  now.boot_id.clear();
  EXPECT_EQ(wait_after_boot_us(saved(), now), permit_us) << "perhaps it is the same boot";
  EXPECT_EQ(wait_after_boot_us(saved(), same_boot(0, kNoon)), 0);
  ClockState unbounded = saved();
  unbounded.permitted_us = INT64_MAX;
  EXPECT_EQ(wait_after_boot_us(unbounded, now), 0);
}

TEST(ClockState, AQuickRebootWaitsThoughAClockThatIsAheadIsCalledSynchronised) {
  const ClockState state =
      renewed(saved(), kNoon + kHour, same_boot(kHour, kNoon + 241 * kHour), {});
  ClockReading now = other_boot(kNoon + 241 * kHour + kSecond);
  now.boot_us = kSecond;
  EXPECT_GE(wait_after_boot_us(state, now), kSecond);
  now.wall_us += kSecond;
  EXPECT_EQ(wait_after_boot_us(state, now), 0);
}

TEST(ClockState, WithoutAnAnchorOfItsOwnAStartStandsWhereAnswersMayHaveBeenGiven) {
  const auto stands_at = [](const ClockReading& now) {
    const ClockState state = standing_state(saved(), now, {});
    EXPECT_EQ(state.permitted_us, state.trusted_us);
    EXPECT_EQ(state.boot_us, now.boot_us);
    return state.trusted_us;
  };
  EXPECT_EQ(stands_at(same_boot(0, kNoon)), kNoon);
  EXPECT_EQ(stands_at(same_boot(kSecond, kNoon + kSecond)), kNoon + with_drift_us(kSecond));
  EXPECT_EQ(stands_at(same_boot(kHour, kNoon + kHour)), saved().permitted_us);
  EXPECT_EQ(stands_at(other_boot(kNoon + kHour)), saved().permitted_us);
}

TEST(ClockState, WithoutAnAnchorOfItsOwnAStartKnowsOfNoSteadinessBeforeItsBoot) {
  EXPECT_EQ(standing_state(saved(), same_boot(kSecond, kNoon), {}).steady_since_us, 50 * kSecond);
  EXPECT_EQ(standing_state(saved(), other_boot(kNoon), {}).steady_since_us, 9 * kSecond);
  EXPECT_EQ(standing_state(saved(), other_boot(kNoon, false), {}).steady_since_us, -1);
}

TEST(ClockState, AnUnknownBootIsAnotherOne) {
  ClockReading now = same_boot(kHour, kNoon + 400 * kHour);
  now.boot_id.clear();
  EXPECT_EQ(state_after_start(saved(), now, {}).trusted_us, kNoon + 72 * kHour);
}

TEST(ClockState, HeldTimeIsReleasedAfterADayOfASteadyClock) {
  const ClockRules rules;
  ClockState state = saved();
  const int64_t jump_us = 400 * kHour;
  int64_t trusted_us = kNoon;
  for (int64_t passed_us = kHour; passed_us < 25 * kHour; passed_us += kHour) {
    trusted_us = kNoon + with_drift_us(passed_us);
    state = renewed(state, trusted_us, same_boot(passed_us, kNoon + jump_us + passed_us), rules);
    ASSERT_EQ(state.trusted_us, trusted_us) << passed_us / kHour;
  }
  state = renewed(state, trusted_us, same_boot(25 * kHour, kNoon + jump_us + 25 * kHour), rules);
  EXPECT_EQ(state.trusted_us, kNoon + jump_us + 25 * kHour)
      << "a day after the jump was first seen";
}

TEST(ClockState, AClockThatKeepsJumpingOrIsNotSynchronisedReleasesNothing) {
  const ClockRules rules;
  for (const bool jumps : {true, false}) {
    ClockState state = saved();
    int64_t trusted_us = kNoon;
    for (int64_t hour = 1; hour < 100; ++hour) {
      trusted_us = kNoon + hour * kHour;
      const int64_t jump_us = 400 * kHour + (jumps ? hour / 20 * 600 * kSecond : 0);
      ClockReading now = same_boot(hour * kHour, kNoon + jump_us + hour * kHour);
      now.synchronised = jumps;
      state = renewed(state, trusted_us, now, rules);
      ASSERT_EQ(state.trusted_us, trusted_us) << hour;
    }
  }
}

// As after a change to summer time by hand, on a machine that has run for a year.
TEST(ClockState, AClockThatWasSteadyForLongIsNotBelievedToJump) {
  const ClockRules rules;
  for (const int64_t days : {1, 10, 365}) {
    SCOPED_TRACE(days);
    const int64_t passed_us = days * 24 * kHour;
    ClockState state = saved();
    for (int64_t hour = 1; hour <= days * 24; ++hour) {
      const int64_t now_us = kNoon + hour * kHour;
      state = renewed(state, now_us, same_boot(hour * kHour, now_us), rules);
    }
    ASSERT_EQ(state.trusted_us, kNoon + passed_us);
    const int64_t later_us = passed_us + 60 * kSecond;
    for (const int64_t jump_us : {10 * kSecond, kHour}) {
      const ClockReading now = same_boot(later_us, kNoon + later_us + jump_us);
      EXPECT_EQ(renewed(state, kNoon + later_us, now, rules).trusted_us, kNoon + later_us);
      EXPECT_LE(state_after_start(state, now, rules).trusted_us,
                kNoon + passed_us + with_drift_us(60 * kSecond));
    }
  }
}

// 400 ppm: the offset of the two clocks moves by a minute in 42 h.
TEST(ClockState, AClockThatDriftsIsSteady) {
  ClockState state = saved();
  const auto wall_us = [](int64_t passed_us) {
    return kNoon + 400 * kHour + passed_us + passed_us / 2'500;
  };
  for (int64_t hour = 1; hour <= 24; ++hour) {
    const int64_t passed_us = hour * kHour;
    state = renewed(state, kNoon + passed_us, same_boot(passed_us, wall_us(passed_us)), {});
    ASSERT_EQ(state.trusted_us, kNoon + passed_us);
  }
  state = renewed(state, kNoon + 25 * kHour, same_boot(25 * kHour, wall_us(25 * kHour)), {});
  EXPECT_EQ(state.trusted_us, wall_us(25 * kHour));
}

TEST(ClockState, ItsArithmeticSaturates) {
  ClockRules rules;
  rules.max_trusted_gap_us = INT64_MAX;
  ClockReading now = other_boot(kNoon + 500 * kHour, false);
  ClockState state = state_after_start(saved(), now, rules);
  now.boot_us += kSecond;
  state = state_after_start(renewed(state, state.trusted_us, now, rules), now, rules);
  now.synchronised = true;
  EXPECT_EQ(renewed(state, state.trusted_us, now, rules).trusted_us, now.wall_us);
  for (const int64_t end_us : {INT64_MIN, INT64_MIN + kSecond, INT64_MAX - kSecond, INT64_MAX}) {
    for (const bool synchronised : {true, false}) {
      ClockState last = saved();
      last.trusted_us = INT64_MAX - kSecond;
      last.permitted_us = INT64_MAX - 1;
      last.wall_us = end_us;
      for (ClockReading there : {same_boot(kHour, end_us), other_boot(end_us, synchronised)}) {
        there.synchronised = synchronised;
        const ClockState next = state_after_start(last, there, rules);
        EXPECT_GE(next.trusted_us, last.trusted_us);
        EXPECT_GE(next.permitted_us, next.trusted_us);
        EXPECT_GE(renewed(next, next.trusted_us, there, rules).trusted_us, next.trusted_us);
        EXPECT_GE(released(next, there, rules).trusted_us, next.trusted_us);
        EXPECT_GE(standing_state(last, there, rules).trusted_us, last.trusted_us);
      }
    }
  }
}

TEST(ClockState, AnOperatorReleasesAtOnce) {
  const ClockReading now = same_boot(kHour, kNoon + 400 * kHour);
  EXPECT_EQ(released(saved(), now, {}).trusted_us, kNoon + 400 * kHour);
}

// Under any steps of the wall clock and kills of the node: time never goes back, also across boots,
// and never runs faster than the boot-time clock except by what a boot is trusted with.
TEST(ClockState, UnderRandomJumpsAndKillsNoAnswerIsUndercut) {
  const ClockRules rules;
  for (uint64_t seed : test_seeds(200)) {
    Random random(seed);
    ManualClock machine(kNoon, 0);
    ClockState state = first_state(ClockReading::of(machine), rules);
    auto clock = std::make_unique<TrustedClock>(machine);
    clock->anchor(anchor_of(state));
    int64_t answered_us = 0;
    int64_t bound_us = kNoon;
    for (int step = 0; step < 200; ++step) {
      const auto passes_us = static_cast<int64_t>(random.below(4 * kSecond));
      machine.advance_us(passes_us);
      bound_us += with_drift_us(passes_us) + 1;
      if (random.below(10) == 0) {
        machine.set_wall_us(kNoon + static_cast<int64_t>(random.below(200 * kHour)));
      }
      const auto what = random.below(8);
      if (what == 0) {  // a kill, perhaps with a reboot
        const bool reboot = random.below(2) == 0;
        if (reboot) bound_us += rules.max_trusted_gap_us + rules.permit_us;
        if (reboot) machine.set_boot(std::to_string(step), static_cast<int64_t>(random.below(9)));
        // The one inexact case (clock_state.cc): ahead and back since the last anchor.
        const int64_t since_us = machine.boot_us() - state.boot_us;
        answered_us -= reboot ? 0 : 2 * (with_drift_us(since_us) - since_us) + 2;
        machine.set_synchronised(random.below(2) == 0);
        state = state_after_start(state, ClockReading::of(machine), rules);
        clock = std::make_unique<TrustedClock>(machine);
        clock->anchor(anchor_of(state));
      } else if (what < 6) {
        state = renewed(state, clock->now_us(), ClockReading::of(machine), rules);
        clock->anchor(anchor_of(state));
      }
      const int64_t now_us = clock->now_us();
      ASSERT_GE(now_us, answered_us) << "seed " << seed << " step " << step;
      ASSERT_LE(now_us, bound_us) << "seed " << seed << " step " << step;
      answered_us = now_us;
    }
  }
}

}  // namespace
}  // namespace cellar::engine
