// Fragments of row-range deletes and of column deletes.
#include "engine/read/range_deletes.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "engine/read/column_deletes.h"
#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

TEST(RangeDeletes, TheNewestOfSeveralCovers) {
  RangeDeletes deletes;
  deletes.add({"a", "m", CommitStamp{5}});
  deletes.add({"g", "z", CommitStamp{9}});
  deletes.build();
  EXPECT_EQ(deletes.covering("a", kMaxStamp), CommitStamp{5});
  EXPECT_EQ(deletes.covering("g", kMaxStamp), CommitStamp{9});
  EXPECT_EQ(deletes.covering("m", kMaxStamp), CommitStamp{9});
  EXPECT_EQ(deletes.covering("z", kMaxStamp), CommitStamp{0});
  EXPECT_EQ(deletes.covering("A", kMaxStamp), CommitStamp{0});
}

TEST(RangeDeletes, AReaderDoesNotSeeADeleteCommittedAfterIt) {
  RangeDeletes deletes;
  deletes.add({"a", "", CommitStamp{5}});
  deletes.add({"a", "", CommitStamp{9}});
  deletes.build(CommitStamp{4});
  EXPECT_EQ(deletes.covering("b", CommitStamp{4}), CommitStamp{0});
  EXPECT_EQ(deletes.covering("b", CommitStamp{5}), CommitStamp{5});
  EXPECT_EQ(deletes.covering("b", CommitStamp{8}), CommitStamp{5});
  EXPECT_EQ(deletes.covering("b", CommitStamp{9}), CommitStamp{9});
}

TEST(RangeDeletes, RandomSetsEqualALinearSearch) {
  for (const uint64_t seed : test_seeds(300)) {
    Random random(seed);
    RangeDeletes deletes;
    std::vector<RangeTombstone> all;
    for (uint64_t i = 0, n = random.below(20); i < n; ++i) {
      RangeTombstone range{
          std::string(1, static_cast<char>('a' + random.below(10))),
          random.one_in(5) ? "" : std::string(1, static_cast<char>('a' + random.below(12))),
          CommitStamp{1 + random.below(30)}};
      deletes.add(range);
      all.push_back(range);
    }
    const CommitStamp floor{random.below(30)};
    deletes.build(floor);
    for (char c = 'a'; c < 'n'; ++c) {
      const std::string row(1, c);
      for (uint64_t at = floor.value(); at < 32; ++at) {
        CommitStamp want;
        for (const RangeTombstone& range : all)
          if (range.covers(row) && range.stamp <= CommitStamp{at})
            want = std::max(want, range.stamp);
        ASSERT_EQ(deletes.covering(row, CommitStamp{at}), want)
            << "seed " << seed << " row " << row;
      }
    }
  }
}

TEST(ColumnDeletes, RandomSetsEqualALinearSearch) {
  struct Item {
    int64_t start;
    int64_t end;
    CommitStamp stamp;
  };
  for (const uint64_t seed : test_seeds(500)) {
    Random random(seed);
    ColumnDeletes deletes;
    std::vector<Item> all;
    for (uint64_t stamp = 30; stamp > 0; stamp -= 1 + random.below(std::min<uint64_t>(stamp, 4))) {
      const auto start = static_cast<int64_t>(random.below(20));
      const int64_t end =
          random.one_in(6) ? kMaxTimestampUs : start + 1 + static_cast<int64_t>(random.below(6));
      const bool redundant = [&] {
        for (int64_t t = start; t <= std::min<int64_t>(end == kMaxTimestampUs ? 30 : end - 1, 30);
             ++t)
          if (std::none_of(all.begin(), all.end(), [t](const Item& i) {
                return i.start <= t && (t < i.end || i.end == kMaxTimestampUs);
              }))
            return false;
        return true;
      }();
      EXPECT_EQ(deletes.add(start, end, CommitStamp{stamp}), !redundant) << "seed " << seed;
      all.push_back({start, end, CommitStamp{stamp}});
    }
    for (int64_t t = 30; t >= 0; t -= 1 + static_cast<int64_t>(random.below(2))) {
      CommitStamp want;
      for (const Item& item : all)
        if (item.start <= t && (t < item.end || item.end == kMaxTimestampUs))
          want = std::max(want, item.stamp);
      ASSERT_EQ(deletes.covering(t), want) << "seed " << seed << " at " << t;
    }
  }
}

TEST(ColumnDeletes, AHundredThousandOverlappingRangesAreFragmentedOnce) {
  Random random(3);
  ColumnDeletes deletes;
  for (uint64_t i = 100'000; i > 0; --i) {
    const auto start = static_cast<int64_t>(random.below(1'000'000));
    deletes.add(start, start + 1 + static_cast<int64_t>(random.below(1000)), CommitStamp{i});
  }
  uint64_t covered = 0;
  for (int64_t t = 1'001'000; t >= 0; --t) covered += deletes.covering(t) != CommitStamp{};
  EXPECT_GT(covered, 900'000u);
}

TEST(RangeDeletes, AllThatCoverARowAreFoundAmongAny) {
  for (const uint64_t seed : test_seeds(30)) {
    Random random(seed);
    const auto row = [&random] { return fmt::format("{:02}", random.below(40)); };
    RangeDeletes deletes;
    for (uint64_t i = random.below(30); i > 0; --i)
      deletes.add({row(), random.one_in(5) ? "" : row(), CommitStamp{1 + random.below(50)}});
    deletes.build();
    for (int i = 0; i < 50; ++i) {
      const std::string at = row();
      const CommitStamp stamp{random.below(60)};
      std::vector<CommitStamp> expected;
      for (const RangeTombstone& range : deletes.items())
        if (range.stamp <= stamp && range.covers(at)) expected.push_back(range.stamp);
      std::sort(expected.begin(), expected.end(), std::greater<>());
      std::vector<CommitStamp> found;
      deletes.all_covering(at, stamp, found);
      ASSERT_EQ(found, expected) << "seed " << seed << " row " << at;
    }
  }
}

// Comparing each row with each delete would take minutes.
TEST(RangeDeletes, ManyRowsUnderManyDeletesAreNoProduct) {
  constexpr uint64_t kMany = 200'000;
  const auto row = [](uint64_t i) { return fmt::format("{:06}", i); };
  RangeDeletes deletes;
  for (uint64_t i = 0; i < kMany; ++i) deletes.add({row(i), row(i + 1), CommitStamp{i + 1}});
  deletes.build();
  std::vector<CommitStamp> found;
  for (uint64_t i = 0; i < kMany; ++i) {
    deletes.all_covering(row(i), kMaxStamp, found);
    ASSERT_EQ(found, std::vector<CommitStamp>{CommitStamp{i + 1}});
  }
}

}  // namespace
}  // namespace cellar::engine
