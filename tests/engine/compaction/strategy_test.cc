#include "engine/compaction/strategy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

namespace cellar::engine {
namespace {

constexpr int64_t kDayUs = 86'400'000'000;

TableSchema schema_of(std::vector<RetentionRule> rules) {
  TableSchema schema;
  for (size_t i = 0; i < rules.size(); ++i) {
    FamilySchema& family = schema.families.emplace_back();
    family.name = std::string(1, static_cast<char>('a' + i));
    family.rule = rules[i];
  }
  return schema;
}

std::optional<FatalAges> ages_of(const TableSchema& schema) {
  return fatal_ages(TableRetention(schema));
}

Compaction chosen(const TableSchema& schema, std::optional<double> late,
                  Compaction present = Compaction::automatic) {
  return choose_compaction(schema, ages_of(schema), late, present);
}

// Cells of 100 bytes at these times.
RunTimes run_of(const std::vector<int64_t>& times, size_t with_expiry = 0) {
  CellProfile profile;
  profile.known = true;
  CellProfile::Family& family = profile.families.emplace_back();
  family.name = "a";
  TimeHistogramBuilder histogram;
  TimeHistogramBuilder expiries;
  TimeBounds bounds;
  for (size_t i = 0; i < times.size(); ++i) {
    const bool expires = i < with_expiry;
    (expires ? expiries : histogram).add(times[i], 100);
    bounds.add_cell(times[i], expires ? times[i] + 1 : kNoExpiry);
  }
  family.times = histogram.finish();
  profile.expiries = expiries.finish();
  RunTimes run;
  run.add(profile, bounds, 50 * times.size());
  return run;
}

std::vector<int64_t> even(int64_t from_us, int64_t to_us, int64_t count) {
  std::vector<int64_t> times;
  for (int64_t i = 0; i < count; ++i) times.push_back(from_us + (to_us - from_us) * i / count);
  return times;
}

TEST(Strategy, AgesAreThoseThatKillByThemselves) {
  const auto age = RetentionRule::max_age_us(kDayUs);
  const auto versions = RetentionRule::max_versions(3);
  EXPECT_EQ(ages_of(schema_of({age}))->longest_us, kDayUs);
  EXPECT_EQ(ages_of(schema_of({RetentionRule::union_of({versions, age})}))->longest_us, kDayUs);
  EXPECT_FALSE(ages_of(schema_of({RetentionRule::intersection_of({versions, age})})));
  EXPECT_FALSE(ages_of(schema_of({age, versions})));
  EXPECT_FALSE(ages_of(schema_of({age, RetentionRule{}})));
  EXPECT_FALSE(ages_of(schema_of({})));
  const auto both = ages_of(schema_of({age, RetentionRule::max_age_us(3 * kDayUs)}));
  EXPECT_EQ(both->shortest_us, kDayUs);
  EXPECT_EQ(both->longest_us, 3 * kDayUs);
}

TEST(Strategy, AutomaticTakesWindowsForWhatAgesAndComesInOrder) {
  const TableSchema ages = schema_of({RetentionRule::max_age_us(kDayUs)});
  EXPECT_EQ(chosen(ages, 0.0), Compaction::time_window);
  EXPECT_EQ(chosen(ages, 0.9), Compaction::tiered);
  EXPECT_EQ(chosen(schema_of({RetentionRule::max_versions(1)}), 0.0), Compaction::tiered);
  TableSchema expiry = ages;
  expiry.families[0].timestamps = TimestampMeaning::expiry;
  EXPECT_EQ(chosen(expiry, 0.0), Compaction::tiered);
  const auto mixed = [](int64_t times) {
    return schema_of(
        {RetentionRule::max_age_us(kDayUs), RetentionRule::max_age_us(times * kDayUs)});
  };
  EXPECT_EQ(chosen(mixed(kMostAgeSpread), 0.0), Compaction::time_window);
  EXPECT_EQ(chosen(mixed(kMostAgeSpread + 1), 0.0), Compaction::tiered);
}

TEST(Strategy, DoesNotChangeItsMindWithEveryFlush) {
  const TableSchema schema = schema_of({RetentionRule::max_age_us(kDayUs)});
  constexpr double kBetween = (kMostLate + kTooLate) / 2;
  EXPECT_EQ(chosen(schema, kMostLate, Compaction::tiered), Compaction::time_window);
  EXPECT_EQ(chosen(schema, kBetween, Compaction::tiered), Compaction::tiered);
  EXPECT_EQ(chosen(schema, kBetween, Compaction::time_window), Compaction::time_window);
  EXPECT_EQ(chosen(schema, kBetween, Compaction::automatic), Compaction::time_window);  // a start
  EXPECT_EQ(chosen(schema, kTooLate + 0.01, Compaction::time_window), Compaction::tiered);
  EXPECT_EQ(chosen(schema, std::nullopt, Compaction::automatic), Compaction::tiered);
  EXPECT_EQ(chosen(schema, std::nullopt, Compaction::time_window), Compaction::time_window);
}

TEST(Strategy, WhatIsNamedIsDoneWhereItCanBe) {
  TableSchema schema = schema_of({RetentionRule::max_age_us(kDayUs)});
  schema.options.compaction = Compaction::time_window;
  EXPECT_EQ(chosen(schema, 1.0), Compaction::time_window);
  schema.options.compaction = Compaction::tiered;
  EXPECT_EQ(chosen(schema, 0.0), Compaction::tiered);
  TableSchema ageless = schema_of({RetentionRule{}});
  ageless.options.compaction = Compaction::time_window;
  EXPECT_EQ(chosen(ageless, 0.0), Compaction::tiered);
}

TEST(Strategy, AFewCellsOutOfTheirTimeDoNotMoveTheMiddle) {
  std::vector<int64_t> times = even(kDayUs, kDayUs + 1000, 100);
  times.push_back(0);
  times.push_back(INT64_MAX - 1);
  EXPECT_NEAR(static_cast<double>(*run_of(times).middle_us() - kDayUs), 500, 100);
  EXPECT_FALSE(run_of({}).middle_us());
}

TEST(Strategy, LateIsWhatIsOlderThanWhatHadCome) {
  std::vector<RunTimes> runs;
  for (int64_t i = 0; i < 10; ++i) {
    runs.push_back(run_of(even(i * kDayUs / 10, (i + 1) * kDayUs / 10, 100)));
  }
  EXPECT_NEAR(*late_share(runs, kDayUs), 0, 0.001);
  EXPECT_FALSE(late_share(std::span(runs).first(kLeastEvidence - 1), kDayUs));
  // One run in eleven holds times from all over the day.
  runs.push_back(run_of(even(0, kDayUs, 100)));
  EXPECT_NEAR(*late_share(runs, kDayUs), 0.825 / 11, 0.01);
  // All runs do.
  std::vector<RunTimes> any(10, run_of(even(0, kDayUs, 100)));
  EXPECT_NEAR(*late_share(any, kDayUs), 0.9 * 0.375, 0.02);
  EXPECT_GT(*late_share(any, kDayUs), kTooLate);
  // The newest first.
  std::reverse(runs.begin(), runs.end());
  EXPECT_GT(*late_share(runs, kDayUs), 0.5);
}

TEST(Strategy, CellsWithAnExpiryOfTheirOwnCountAsLate) {
  std::vector<RunTimes> runs;
  for (int64_t i = 0; i < 10; ++i) {
    runs.push_back(run_of(even(i * kDayUs / 10, (i + 1) * kDayUs / 10, 100), 40));
  }
  EXPECT_NEAR(*late_share(runs, kDayUs), 0.4, 0.01);
}

}  // namespace
}  // namespace cellar::engine
