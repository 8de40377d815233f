// RowCache: what makes a result invalid, what is kept, and its bounds.
#include "engine/read/row_cache.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <random>
#include <utility>

#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

constexpr int64_t kNow = 1'000;

struct Cells final : CellSink {
  std::vector<std::string> seen;
  size_t pause_after = SIZE_MAX;
  bool ended = false;

  Flow cell(const CellView& cell) override {
    seen.push_back(fmt::format("{} {}:{} {} {}", cell.row, cell.family, cell.qualifier,
                               cell.timestamp_us, cell.value));
    return seen.size() >= pause_after ? Flow::pause : Flow::more;
  }
  Flow end_row(Bytes) override {
    ended = true;
    return Flow::more;
  }
};

class RowCacheTest : public testing::Test {
 protected:
  // What is held; a row that has no cell is "".
  std::optional<std::string> held(const RowQuery& query, uint64_t since = 0,
                                  int64_t now_us = kNow) {
    const CachedRow* row = cache_.find(query, CommitStamp{since}, now_us);
    if (row == nullptr) return std::nullopt;
    Cells cells;
    uint64_t count = 0;
    EXPECT_TRUE(row->give(cells, count));
    EXPECT_EQ(count, cells.seen.size());
    EXPECT_EQ(cells.ended, count != 0);
    return cells.seen.empty() ? "" : cells.seen.front();
  }
  // Reads the row, whose only cell has this value, as a tablet does. True: it was kept.
  bool read(const RowQuery& query, const std::string& value, uint64_t stamp,
            int64_t alive_until_us = INT64_MAX) {
    EXPECT_EQ(cache_.find(query, CommitStamp{}, kNow), nullptr);
    if (!cache_.wants_last()) return false;
    Cells cells;
    RowRecorder recorder(cells, cache_.scratch());
    recorder.cell({query.row, "f", "q", 7, value});
    recorder.end_row(query.row);
    const uint64_t before = cache_.figures().rows;
    cache_.keep(query, recorder, CommitStamp{stamp}, alive_until_us);
    return cache_.figures().rows > before;
  }
  void keep(const RowQuery& query, const std::string& value, uint64_t stamp,
            int64_t alive_until_us = INT64_MAX) {
    EXPECT_FALSE(read(query, value, stamp, alive_until_us));
    ASSERT_TRUE(read(query, value, stamp, alive_until_us));
  }
  static std::string cell(Bytes row, Bytes value) { return fmt::format("{} f:q 7 {}", row, value); }

  RowCache cache_{1 << 20};
  uint64_t owner_ = cache_.new_owner();
};

TEST_F(RowCacheTest, GivesWhatWasReadTwice) {
  const RowQuery query{.owner = owner_, .row = "row"};
  keep(query, "v", 10);
  EXPECT_EQ(held(query), cell("row", "v"));
  EXPECT_EQ(held({.owner = owner_, .row = "ro"}), std::nullopt);
  EXPECT_EQ(held({.owner = owner_, .row = "row", .versions = 1}), std::nullopt);
  EXPECT_EQ(held({.owner = cache_.new_owner(), .row = "row"}), std::nullopt);
  const NamedColumns columns = {{"f", "q"}};
  EXPECT_EQ(held({.owner = owner_, .row = "row", .columns = &columns}), std::nullopt);
  EXPECT_EQ(cache_.figures().hits, 1u);
}

TEST_F(RowCacheTest, QueriesThatDifferInColumnsAreHeldApart) {
  const NamedColumns ab = {{"a", "b"}};
  const NamedColumns a_b = {{"a", ""}, {"b", ""}};
  keep({.owner = owner_, .row = "row", .versions = 1, .columns = &ab}, "one", 10);
  keep({.owner = owner_, .row = "row", .versions = 1, .columns = &a_b}, "two", 10);
  EXPECT_EQ(held({.owner = owner_, .row = "row", .versions = 1, .columns = &ab}),
            cell("row", "one"));
  EXPECT_EQ(held({.owner = owner_, .row = "row", .versions = 1, .columns = &a_b}),
            cell("row", "two"));
}

TEST_F(RowCacheTest, ACommitToTheRowEndsIt) {
  const RowQuery query{.owner = owner_, .row = "row"};
  keep(query, "v", 10);
  cache_.wrote(owner_, "row", CommitStamp{10});  // the read saw it
  EXPECT_EQ(held(query), cell("row", "v"));
  cache_.wrote(owner_, "row", CommitStamp{11});
  EXPECT_EQ(held(query), std::nullopt);
}

// The commit is applied and not visible: a read of now must not be given later.
TEST_F(RowCacheTest, AReadBesideACommitThatIsNotVisibleIsNotKept) {
  const RowQuery query{.owner = owner_, .row = "row"};
  cache_.find(query, CommitStamp{}, kNow);
  cache_.wrote(owner_, "row", CommitStamp{11});
  EXPECT_FALSE(read(query, "old", 10));
  EXPECT_FALSE(read(query, "new", 11));
  EXPECT_TRUE(read(query, "new", 11));
  EXPECT_EQ(held(query), cell("row", "new"));
}

// The cache has no memory before its first search.
TEST_F(RowCacheTest, NorBesideOneThatWasAppliedBeforeTheFirstRead) {
  const RowQuery query{.owner = owner_, .row = "row"};
  cache_.wrote(owner_, "row", CommitStamp{11});
  EXPECT_FALSE(read(query, "old", 10));
  EXPECT_FALSE(read(query, "old", 10));
  EXPECT_FALSE(read(query, "new", 11)) << "as after a write";
  EXPECT_TRUE(read(query, "new", 11));
  EXPECT_EQ(held(query), cell("row", "new"));
}

TEST_F(RowCacheTest, ADeleteOfRowsEndsWhatIsEarlier) {
  const RowQuery query{.owner = owner_, .row = "row"};
  keep(query, "v", 10);
  EXPECT_EQ(held(query, 10), cell("row", "v"));
  EXPECT_EQ(held(query, 11), std::nullopt);
  EXPECT_EQ(held(query, 0), std::nullopt) << "it was dropped";
}

TEST_F(RowCacheTest, TimeEndsItAfterTheLastInstantOfItsCells) {
  const RowQuery query{.owner = owner_, .row = "row"};
  keep(query, "v", 10, kNow + 5);
  EXPECT_EQ(held(query, 0, kNow + 5), cell("row", "v"));
  EXPECT_EQ(held(query, 0, kNow + 6), std::nullopt);
}

TEST_F(RowCacheTest, APauseIsKept) {
  const RowQuery query{.owner = owner_, .row = "row"};
  cache_.find(query, CommitStamp{}, kNow);
  ASSERT_EQ(cache_.find(query, CommitStamp{}, kNow), nullptr);
  ASSERT_TRUE(cache_.wants_last());
  Cells cells;
  RowRecorder recorder(cells, cache_.scratch());
  for (int i = 3; i > 0; --i) recorder.cell({"row", "f", "q", i, "v"});
  cache_.keep(query, recorder, CommitStamp{10}, INT64_MAX);
  for (size_t after = 1; after <= 3; ++after) {
    const CachedRow* row = cache_.find(query, CommitStamp{}, kNow);
    ASSERT_NE(row, nullptr);
    Cells some;
    some.pause_after = after;
    uint64_t count = 0;
    EXPECT_EQ(row->give(some, count), after == 3);
    EXPECT_EQ(count, after);
    EXPECT_EQ(some.ended, after == 3);
  }
}

TEST_F(RowCacheTest, ALongResultIsNotKept) {
  const RowQuery query{.owner = owner_, .row = "row"};
  EXPECT_FALSE(read(query, std::string(RowRecorder::kMostBytes, 'x'), 10));
  EXPECT_FALSE(read(query, std::string(RowRecorder::kMostBytes, 'x'), 10));
  EXPECT_EQ(cache_.figures().rows, 0u);
}

// But for a row in 8,000, whose tag equals one of the four that the set remembers.
TEST_F(RowCacheTest, AWalkReplacesNothing) {
  for (int i = 0; i < 100; ++i) {
    const std::string row = fmt::format("hot{}", i);
    keep({.owner = owner_, .row = row}, "v", 10);
  }
  int wanted = 0;
  for (int i = 0; i < 100'000; ++i) {
    const std::string row = fmt::format("walk{}", i);
    cache_.find({.owner = owner_, .row = row}, CommitStamp{}, kNow);
    wanted += cache_.wants_last() ? 1 : 0;
  }
  EXPECT_LT(wanted, 50);
  EXPECT_EQ(cache_.figures().rows, 100u);
}

TEST_F(RowCacheTest, HoldsAtMostItsBytesAndTheRowsThatAreUsed) {
  const std::string value(1000, 'v');
  uint64_t hot_hits = 0;
  for (int i = 0; i < 20'000; ++i) {
    const std::string row = fmt::format("row{}", i);
    const RowQuery query{.owner = owner_, .row = row};
    if (!held(query)) read(query, value, 10);
    if (!held(query)) read(query, value, 10);
    const RowQuery hot{.owner = owner_, .row = "hot"};
    if (held(hot)) {
      ++hot_hits;
    } else if (!read(hot, value, 10)) {
      read(hot, value, 10);
    }
    ASSERT_LE(cache_.figures().bytes, 1u << 20);
  }
  EXPECT_GT(cache_.figures().rows, 500u);
  EXPECT_GT(hot_hits, 19'900u);
}

TEST(RowCacheOff, HoldsNothing) {
  RowCache cache(0);
  const RowQuery query{.owner = cache.new_owner(), .row = "row"};
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(cache.find(query, CommitStamp{}, kNow), nullptr);
    EXPECT_FALSE(cache.wants_last());
  }
  cache.wrote(query.owner, "row", CommitStamp{1});
  EXPECT_EQ(cache.figures().bytes, 0u);
}

// Rows of a small cache that are written and read at random: every result that is given is that of
// the last visible commit.
TEST(RowCacheRandom, GivesWhatIsVisible) {
  for (const uint64_t seed : test_seeds(20)) {
    std::mt19937_64 random(seed);
    RowCache cache(64 << 10);
    struct Row {
      uint64_t visible = 0;
      uint64_t applied = 0;  // 0: nothing is pending
    };
    const uint64_t owner = cache.new_owner();
    std::map<std::string, Row> rows;
    uint64_t stamp = 100;
    uint64_t hits = 0;
    for (int step = 0; step < 20'000; ++step) {
      const std::string name = fmt::format("r{}", random() % 400);
      Row& row = rows[name];
      const RowQuery query{.owner = owner, .row = name};
      const uint64_t what = random() % 100;
      // A hint, whatever becomes of it.
      if (what % 2 == 0) cache.expect_result(cache.expect(owner, fmt::format("r{}", what)));
      if (what < 3) {
        if (row.applied == 0) cache.wrote(owner, name, CommitStamp{row.applied = ++stamp});
      } else if (what < 6) {
        if (row.applied != 0) row.visible = std::exchange(row.applied, 0);
      } else {
        const std::string now = std::to_string(row.visible);
        if (const CachedRow* found = cache.find(query, CommitStamp{}, kNow)) {
          Cells cells;
          uint64_t count = 0;
          found->give(cells, count);
          ASSERT_EQ(cells.seen.front(), fmt::format("{} f:q 7 {}", name, now)) << "seed " << seed;
          ++hits;
        } else if (cache.wants_last()) {
          Cells cells;
          RowRecorder recorder(cells, cache.scratch());
          recorder.cell({name, "f", "q", 7, now});
          // While a commit of the row is pending, the read is as of the one before.
          const uint64_t as_of = row.applied != 0 ? row.applied - 1 : stamp;
          cache.keep(query, recorder, CommitStamp{as_of}, INT64_MAX);
        }
      }
    }
    EXPECT_GT(hits, 5'000u) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cellar::engine
