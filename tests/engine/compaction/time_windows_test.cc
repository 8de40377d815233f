#include "engine/compaction/time_windows.h"

#include <gtest/gtest.h>

#include <deque>
#include <vector>

#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

constexpr int64_t kAgeUs = 86'400'000'000;
constexpr uint64_t kFlushBytes = 1000;

std::vector<TimedRun> runs_of(const std::vector<int64_t>& middles) {
  std::vector<TimedRun> runs;
  for (const int64_t middle : middles) runs.push_back({kFlushBytes, middle});
  return runs;
}

TEST(TimeWindows, NothingIsMergedWhileTheRunsAreAllowed) {
  EXPECT_FALSE(pick_time_merge({}, 10, 0));
  EXPECT_FALSE(pick_time_merge(runs_of({1, 2, 3}), 10, 3));
  EXPECT_TRUE(pick_time_merge(runs_of({1, 2, 3}), 10, 2));
}

TEST(TimeWindows, TheYoungestClosedWindowIsMergedWhole) {
  // Windows of 10: two runs each in windows 0, 1 and 2; window 3 is being written.
  const auto picked = pick_time_merge(runs_of({1, 5, 11, 15, 21, 25, 31, 35}), 10, 7);
  ASSERT_TRUE(picked);
  EXPECT_EQ(picked->first, 4u);
  EXPECT_EQ(picked->count, 2u);
}

TEST(TimeWindows, NoMergeGoesAcrossWindowsThatHaveNeighbours) {
  for (const uint64_t seed : test_seeds(200)) {
    Random random(seed);
    std::vector<TimedRun> runs;
    for (int i = 0; i < 20; ++i) {
      runs.push_back({1 + random.below(1000), i * 5 + static_cast<int64_t>(random.below(5))});
    }
    const auto picked = pick_time_merge(runs, 10, 10);
    ASSERT_TRUE(picked) << seed;
    const int64_t window = *runs[picked->first].middle_us / 10;
    for (size_t i = 0; i < picked->count; ++i) {
      EXPECT_EQ(*runs[picked->first + i].middle_us / 10, window) << seed;
    }
  }
}

TEST(TimeWindows, WhereNoWindowHasNeighboursTheyAreTakenWider) {
  const auto picked = pick_time_merge(runs_of({5, 15, 25, 35}), 10, 3);
  ASSERT_TRUE(picked);
  EXPECT_EQ(picked->count, 2u);
  EXPECT_EQ(picked->first % 2, 0u);  // of one window of 20
  // Runs in no order, at the ends of time: a merge is still found.
  const auto far = pick_time_merge(runs_of({INT64_MAX, 0, INT64_MAX, 0}), 1, 3);
  ASSERT_TRUE(far);
  EXPECT_GE(far->count, 2u);
}

TEST(TimeWindows, ARunWithoutTimesGoesWithTheOneBefore) {
  std::vector<TimedRun> runs = runs_of({5, 15, 16, 25});
  runs[2].middle_us.reset();
  const auto picked = pick_time_merge(runs, 10, 3);
  ASSERT_TRUE(picked);
  EXPECT_EQ(picked->first, 1u);
  EXPECT_EQ(picked->count, 2u);
}

TEST(TimeWindows, MergesAreNoWiderThanMemoryAllows) {
  const auto picked = pick_time_merge(runs_of({1, 2, 3, 4, 5, 6, 7, 8, 11}), 10, 3, 3);
  ASSERT_TRUE(picked);
  EXPECT_EQ(picked->count, 3u);
}

TEST(TimeWindows, SmallRunsAreAllowedAsFewAsTieredOnes) {
  EXPECT_EQ(allowed_time_runs(0, 1000, 8, 100), 8u);
  EXPECT_EQ(allowed_time_runs(9'999, 1000, 8, 100), 9u);
  EXPECT_EQ(allowed_time_runs(1u << 30, 1000, 8, SIZE_MAX), kMostTimeRuns);
  EXPECT_EQ(allowed_time_runs(1u << 30, 1000, 8, 20), 20u);
  EXPECT_EQ(allowed_time_runs(1u << 30, 1000, 8, 2), kLeastRuns);
  EXPECT_EQ(time_window_us(kAgeUs, kMostTimeRuns), kAgeUs / 32);
  EXPECT_EQ(time_window_us(kAgeUs, 8), kAgeUs / 2);
  EXPECT_EQ(time_window_us(1, 128), 1);
}

struct Outcome {
  double write_amplification = 0;
  size_t most_runs = 0;
};

// Simulates `flushes_a_day` flushes; `days` of them are live at a time, and the oldest is dropped
// when it is dead. `late`: one flush in `late` holds cells from any time of the day before.
Outcome simulate(int64_t flushes_a_day, int64_t days, uint64_t late = 0) {
  Random random(5);
  std::deque<TimedRun> runs;
  std::vector<int64_t> newest;
  std::deque<int64_t> last;
  Outcome outcome;
  double written = 0;
  for (int64_t i = 0; i < flushes_a_day * days; ++i) {
    const int64_t now_us = kAgeUs + (i + 1) * (kAgeUs / flushes_a_day);
    while (!runs.empty() && last.front() + kAgeUs < now_us) {
      runs.pop_front();
      last.pop_front();
    }
    const bool is_late = late != 0 && random.one_in(late);
    runs.push_back({kFlushBytes, now_us - (is_late ? static_cast<int64_t>(random.below(kAgeUs))
                                                   : kAgeUs / flushes_a_day / 2)});
    last.push_back(now_us);
    written += kFlushBytes;
    outcome.most_runs = std::max(outcome.most_runs, runs.size());
    const std::vector<TimedRun> flat(runs.begin(), runs.end());
    const auto picked = pick_time_merge(flat, time_window_us(kAgeUs, kMostTimeRuns), kMostTimeRuns);
    if (!picked) continue;
    TimedRun merged{0, 0};
    double middle = 0;
    for (size_t j = picked->first; j < picked->first + picked->count; ++j) {
      merged.bytes += flat[j].bytes;
      middle += static_cast<double>(flat[j].bytes) * static_cast<double>(*flat[j].middle_us);
      last[picked->first] = std::max(last[picked->first], last[j]);
    }
    merged.middle_us = static_cast<int64_t>(middle / static_cast<double>(merged.bytes));
    written += static_cast<double>(merged.bytes);
    const auto first = static_cast<ptrdiff_t>(picked->first);
    const auto count = static_cast<ptrdiff_t>(picked->count);
    runs[picked->first] = merged;
    runs.erase(runs.begin() + first + 1, runs.begin() + first + count);
    last.erase(last.begin() + first + 1, last.begin() + first + count);
  }
  outcome.write_amplification =
      written / static_cast<double>(flushes_a_day * days) / static_cast<double>(kFlushBytes);
  return outcome;
}

// The figures that the header states.
TEST(TimeWindows, ThirtyDaysOfFlushesAreWrittenAboutOnce) {
  struct Case {
    int64_t flushes_a_day;
    double most;
  };
  for (const Case c :
       {Case{100, 1.0}, {126, 1.0}, {200, 1.5}, {230, 1.6}, {1000, 2.0}, {3000, 2.2}}) {
    const Outcome outcome = simulate(c.flushes_a_day, 30);
    EXPECT_LE(outcome.write_amplification, c.most) << c.flushes_a_day;
    EXPECT_LE(outcome.most_runs, kMostTimeRuns + 2) << c.flushes_a_day;
  }
}

TEST(TimeWindows, LateFlushesCostLittle) {
  const Outcome outcome = simulate(200, 10, 10);
  EXPECT_LE(outcome.write_amplification, 2.0);
  EXPECT_LE(outcome.most_runs, kMostTimeRuns + 2);
}

}  // namespace
}  // namespace cellar::engine
