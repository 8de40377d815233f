// When reclaiming has to begin, given the whole queue of a shard.
#include "engine/gc/reclaim_queue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "io/base/random.h"

namespace cellar::engine {
namespace {

constexpr int64_t kS = 1'000'000;

ReclaimDemand demand(double due_s, double work_s, double share = 0.5, double within_s = 60) {
  return {.due_us = static_cast<int64_t>(due_s * kS),
          .within_us = static_cast<int64_t>(within_s * kS),
          .share = share,
          .work_us = work_s * kS,
          .least_us = 0};
}

std::vector<ReclaimTime> plan(const std::vector<ReclaimDemand>& demands) {
  return ReclaimQueue::plan(demands);
}

TEST(ReclaimQueue, OneAloneBeginsAsLongBeforeAsItTakes) {
  const auto times = plan({demand(100, 2)});
  EXPECT_EQ(times[0].begin_us, 96 * kS);
  EXPECT_EQ(times[0].end_us, 100 * kS);
  EXPECT_EQ(times[0].share, 0.5);
}

TEST(ReclaimQueue, ThoseThatFallDueTogetherAreBegunOneAfterTheOther) {
  const auto times = plan({demand(101, 2), demand(100, 2)});
  EXPECT_EQ(times[0].begin_us, 97 * kS);
  EXPECT_EQ(times[1].begin_us, 93 * kS);
  EXPECT_EQ(times[1].end_us, 97 * kS) << "for the other's sake";
}

TEST(ReclaimQueue, ThoseThatAreFarApartDoNotWaitForOneAnother) {
  const auto times = plan({demand(500, 2), demand(100, 2)});
  EXPECT_EQ(times[0].begin_us, 496 * kS);
  EXPECT_EQ(times[1].begin_us, 96 * kS);
}

TEST(ReclaimQueue, TheShareRisesUntilLeadsAreShortAndNoFurtherThanItMay) {
  std::vector<ReclaimDemand> demands(3, demand(100, 2, 0.1));
  auto times = plan(demands);  // 6 s of work, 15 s of lead are good: 0.4
  EXPECT_GE(times[0].share, 0.4);
  EXPECT_LE(times[0].share, 0.4 * ReclaimQueue::kStep);
  demands.assign(30, demand(100, 2, 0.1));
  times = plan(demands);
  EXPECT_EQ(times[0].share, ReclaimQueue::kMostShare);
  for (const ReclaimDemand& one : demands) EXPECT_EQ(one.due_us, 100 * kS);
  EXPECT_NEAR(static_cast<double>(times[0].begin_us), 0, 100)
      << "30 times 2 s at 0.6, which is all of the time until then";
}

TEST(ReclaimQueue, AShareThatTheTableGivesIsNotTakenAway) {
  const auto times = plan({demand(100, 2, 0.9), demand(100, 2, 0.2)});
  EXPECT_EQ(times[0].share, 0.9);
  EXPECT_EQ(times[1].share, 0.2);
}

TEST(ReclaimQueue, WhatTheDiskMayBeGivenBoundsTheWorkWhateverTheShare) {
  std::vector<ReclaimDemand> demands{demand(100, 2)};
  demands[0].least_us = 10.0 * kS;
  EXPECT_EQ(plan(demands)[0].begin_us, 90 * kS);
}

TEST(ReclaimQueue, NobodyAsksForNothing) { EXPECT_TRUE(plan({}).empty()); }

// Demands begun at their latest times, in order of deadline and one after the other, all end in
// time; no later times would do.
TEST(ReclaimQueue, WhatItPlansIsInTimeAndNoEarlierThanItMust) {
  Random random(3);
  for (int round = 0; round < 200; ++round) {
    std::vector<ReclaimDemand> demands;
    for (uint64_t i = 0; i <= random.below(20); ++i)
      demands.push_back(demand(100 + static_cast<double>(random.below(60)),
                               static_cast<double>(1 + random.below(30)) / 10));
    const auto times = plan(demands);
    std::vector<size_t> order(demands.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::sort(order.begin(), order.end(),
              [&](size_t a, size_t b) { return times[a].begin_us < times[b].begin_us; });
    int64_t free_us = INT64_MIN;
    bool tight = false;
    for (const size_t i : order) {
      const auto takes_us = static_cast<int64_t>(demands[i].work_us / times[i].share);
      EXPECT_GE(times[i].begin_us, free_us);
      free_us = times[i].begin_us + takes_us;
      EXPECT_LE(free_us, demands[i].due_us);
      tight |= free_us == demands[i].due_us;
    }
    EXPECT_TRUE(tight) << "the last of those that wait for one another ends just in time";
  }
}

}  // namespace
}  // namespace cellar::engine
