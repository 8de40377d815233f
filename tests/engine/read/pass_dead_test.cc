// What is dead together is not walked (engine/read/scan.h): the answers are those of a walk, and
// the walk is saved.
#include <gtest/gtest.h>

#include "engine/read/scan.h"
#include "tests/support/durations.h"
#include "tests/support/random_rules.h"
#include "tests/support/rule_tables.h"
#include "tests/support/seeds.h"

namespace cellar::support {
namespace {

constexpr int64_t kStartUs = 1'000'000'000'000'000;

TestNodeOptions options(uint64_t seed) {
  TestNodeOptions options;
  options.seed = seed;
  options.start_wall_us = kStartUs;
  options.engine.removal_margin_us = 3600 * kSecondUs;  // so that what is dead stays
  return options;
}

engine::TableSpec table(RetentionRule rule) {
  engine::TableSpec spec = table_of_rule(std::move(rule), 3600 * kSecondUs);
  spec.splits.clear();
  spec.families[0].born_dead = BornDead::accept;
  spec.options.block_bytes = kMinBlockBytes;
  return spec;
}

std::string row_of(uint64_t i) { return fmt::format("row{:05}", i); }

// A history of one tablet: commits, range deletes, flushes, merges, changes of the rule.
class History {
 public:
  explicit History(uint64_t seed) : random_(seed), node_(options(seed)) {
    EXPECT_TRUE(node_.create_table(table(random_rule(random_, kSecondUs / 4))));
    with_expiry_ = random_.one_in(3);
    node_.catch_up();
  }

  void step() {
    switch (random_.below(24)) {
      case 0:
      case 1:
        EXPECT_TRUE(node_.flush("t"));
        break;
      case 2:
        if (random_.one_in(4)) EXPECT_TRUE(node_.compact("t"));
        break;
      case 3: {
        const uint64_t first = random_.below(kRows);
        const uint64_t last = random_.one_in(4) ? kRows : first + random_.below(kRows);
        EXPECT_TRUE(node_.drop_rows("t", row_of(first), last >= kRows ? "" : row_of(last)));
        break;
      }
      case 4:
        node_.world().run_for_us(static_cast<int64_t>(random_.below(2 * kSecondUs)));
        break;
      case 5:
        if (random_.one_in(8))
          EXPECT_TRUE(node_.alter_table(rule_of_f(random_rule(random_, kSecondUs / 4))));
        break;
      default:
        commit();
    }
  }

  // A read, and the same with a watch, which sees everything.
  void compare() {
    ReadSpec spec;
    if (random_.one_in(3)) {
      spec.rows = RowSet::everything();
    } else {
      for (uint64_t n = 1 + random_.below(3); n > 0; --n) {
        const uint64_t first = random_.below(kRows);
        spec.rows.add({row_of(first), row_of(first + 1 + random_.below(kRows))});
      }
      spec.rows.normalize();
    }
    spec.reversed = random_.one_in(4);
    spec.versions = random_.one_in(3) ? 1 + static_cast<uint32_t>(random_.below(2)) : 0;
    if (random_.one_in(4)) {
      spec.time_range.start_us = now_us() - static_cast<int64_t>(random_.below(6 * kSecondUs));
      spec.time_range.end_us = now_us() - static_cast<int64_t>(random_.below(2 * kSecondUs));
    }
    const auto got = node_.read("t", spec);
    ReadSpec watched = spec;
    watched.explain = true;
    const auto wanted = node_.read_noted("t", watched);
    ASSERT_TRUE(got) << got.error().to_string();
    ASSERT_TRUE(wanted) << wanted.error().to_string();
    std::vector<OwnedCell> cells;
    for (const NotedCell& noted : *wanted) cells.push_back(noted.cell);
    ASSERT_EQ(to_text(*got), to_text(cells));
  }

 private:
  static constexpr uint64_t kRows = 60;

  int64_t now_us() { return node_.world().clock().wall_us(); }

  void commit() {
    for (uint64_t n = 1 + random_.below(6); n > 0; --n) {
      std::vector<OwnedMutation> ops;
      for (uint64_t cells = 1 + random_.below(4); cells > 0; --cells) {
        // Now and then of one timestamp, so that cells are overwritten.
        const int64_t age_us = static_cast<int64_t>(random_.below(24)) * kSecondUs / 4;
        ops.push_back(set_cell(fmt::format("f:q{}", random_.below(3)),
                               now_us() / kSecondUs * kSecondUs - age_us,
                               fmt::format("v{}", ++value_)));
        if (with_expiry_ && random_.one_in(4))
          ops.back().expire_at_us = now_us() + static_cast<int64_t>(random_.below(3 * kSecondUs));
      }
      if (random_.one_in(12)) ops = {delete_row()};
      if (random_.one_in(12)) ops = {delete_column("f:q1", 0, now_us() - kSecondUs)};
      EXPECT_TRUE(node_.write("t", row_of(random_.below(kRows)), std::move(ops)));
    }
  }

  Random random_;
  TestNode node_;
  bool with_expiry_ = false;
  uint64_t value_ = 0;
};

TEST(PassDead, RandomHistoriesEqualAWalkOverEverything) {
  for (const uint64_t seed : test_seeds(60)) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    History history(seed);
    for (int i = 0; i < 150 && !testing::Test::HasFailure(); ++i) {
      history.step();
      if (i % 5 == 0) history.compare();
    }
    if (testing::Test::HasFailure()) break;
  }
}

class Counted : public testing::Test {
 protected:
  explicit Counted(RetentionRule rule = {}) : node_(options(1)) {
    EXPECT_TRUE(node_.create_table(table(std::move(rule))));
  }
  int64_t now_us() { return node_.world().clock().wall_us(); }
  void write(uint64_t first, uint64_t end, int64_t timestamp_us) {
    for (uint64_t i = first; i < end; ++i) {
      ASSERT_TRUE(node_.set("t", row_of(i), "f:q", timestamp_us, "value"));
    }
  }
  // Rows of a read of at most `limit`, and the entries that it examined.
  std::vector<std::string> rows(uint64_t limit, uint64_t& entries, bool reversed = false) {
    struct Rows final : CellSink {
      Flow cell(const CellView&) override { return Flow::more; }
      Flow end_row(Bytes row) override {
        found.emplace_back(row);
        return Flow::more;
      }
      std::vector<std::string> found;
    } sink;
    ReadSpec spec;
    spec.rows = RowSet::everything();
    spec.row_limit = limit;
    spec.reversed = reversed;
    node_.catch_up();
    const engine::TabletDescriptor tablet = node_.table("t")->tablets[0];
    auto cursor = node_.node().engine(tablet.shard).open_scan(tablet.id, tablet.epoch, spec);
    EXPECT_TRUE(cursor);
    for (turns_ = 0; turns_ < 10'000; ++turns_) {
      const engine::ScanStep step = (*cursor)->run(sink);
      if (step == engine::ScanStep::done) break;
      EXPECT_NE(step, engine::ScanStep::failed);
      if (step != engine::ScanStep::blocked) continue;
      std::optional<bool> loaded;
      spawn(node_.loop(0).executor(), load(**cursor, loaded));
      EXPECT_TRUE(node_.world().run_until([&] { return loaded.has_value(); }));
    }
    entries = (*cursor)->entries_read();
    return sink.found;
  }
  static Async<void> load(engine::ScanCursor& cursor, std::optional<bool>& loaded) {
    co_await cursor.load();
    loaded = true;
  }

  TestNode node_;
  int turns_ = 0;  // slices and loads of the last read
};

TEST_F(Counted, TheFirstRowBehindADroppedRangeIsSought) {
  write(0, 2'000, now_us());
  ASSERT_TRUE(node_.flush("t"));
  ASSERT_TRUE(node_.drop_rows("t", row_of(0), row_of(1'990)));
  uint64_t entries = 0;
  EXPECT_EQ(rows(1, entries), std::vector<std::string>{row_of(1'990)});
  EXPECT_LT(entries, 10u);
  EXPECT_EQ(rows(0, entries).size(), 10u);
  EXPECT_LT(entries, 30u);
}

TEST_F(Counted, RowsWrittenAfterTheDropAreFoundInIt) {
  write(0, 2'000, now_us());
  ASSERT_TRUE(node_.flush("t"));
  ASSERT_TRUE(node_.drop_rows("t", row_of(0), ""));
  write(700, 703, now_us());
  ASSERT_TRUE(node_.flush("t"));
  write(1'500, 1'501, now_us());
  uint64_t entries = 0;
  EXPECT_EQ(rows(0, entries).size(), 4u);
  EXPECT_LT(entries, 40u);
  EXPECT_EQ(rows(1, entries), std::vector<std::string>{row_of(700)});
}

// Each stretch has a newest delete of its own.
TEST_F(Counted, RangesOfManyDropsArePassedOneByOne) {
  write(0, 2'000, now_us());
  ASSERT_TRUE(node_.flush("t"));
  for (uint64_t i = 0; i < 40; ++i) {
    ASSERT_TRUE(node_.drop_rows("t", row_of(i * 50), row_of(i * 50 + 49)));
  }
  uint64_t entries = 0;
  EXPECT_EQ(rows(0, entries).size(), 40u);
  EXPECT_LT(entries, 150u);
}

TEST_F(Counted, ReversedReadsPassDroppedRangesToo) {
  write(0, 2'000, now_us());
  ASSERT_TRUE(node_.flush("t"));
  ASSERT_TRUE(node_.drop_rows("t", row_of(10), ""));
  uint64_t entries = 0;
  EXPECT_EQ(rows(1, entries, true), std::vector<std::string>{row_of(9)});
  EXPECT_LT(entries, 10u);
  EXPECT_LT(turns_, 12) << "a seek, not a walk";
  write(700, 703, now_us());
  ASSERT_TRUE(node_.flush("t"));
  write(1'500, 1'501, now_us());
  EXPECT_EQ(rows(0, entries, true).size(), 14u);
  EXPECT_LT(entries, 60u);
  EXPECT_EQ(rows(2, entries, true), (std::vector<std::string>{row_of(1'500), row_of(702)}));
}

// A slice ends many times before the last stretch is passed.
TEST_F(Counted, ReversedReadsPassManyDropsInManySlices) {
  write(0, 6'000, now_us());
  ASSERT_TRUE(node_.flush("t"));
  for (uint64_t i = 0; i < 1'000; ++i) {
    ASSERT_TRUE(node_.drop_rows("t", row_of(2 + i * 5), row_of(7 + i * 5)));
  }
  ASSERT_TRUE(node_.drop_rows("t", row_of(5'002), ""));
  uint64_t entries = 0;
  EXPECT_EQ(rows(0, entries, true), (std::vector<std::string>{row_of(1), row_of(0)}));
  EXPECT_LT(entries, 10u);
  EXPECT_GT(turns_, 3);
}

// The memtable of the drop does not hold the rows.
TEST_F(Counted, RowsInMemoryAreSoughtBehindToo) {
  for (uint64_t i = 0; i < 1'500; ++i) {
    ASSERT_TRUE(node_.write("t", row_of(i), {set_cell("f:q", now_us(), std::string(200, 'v'))}));
  }
  ASSERT_TRUE(node_.drop_rows("t", row_of(0), row_of(1'490)));
  uint64_t entries = 0;
  EXPECT_EQ(rows(1, entries), std::vector<std::string>{row_of(1'490)});
  EXPECT_LT(entries, 10u);
}

// A slice of a forward scan ends within a row.
TEST_F(Counted, AnEndThatIsAskedForComesBehindTheRowAtHand) {
  write(0, 2'000, now_us());
  node_.catch_up();
  struct Nothing final : CellSink {
    Flow cell(const CellView&) override { return Flow::more; }
    Flow end_row(Bytes row) override {
      last.assign(row);
      return Flow::more;
    }
    std::string last;
  } sink;
  ReadSpec spec;
  spec.rows = RowSet::everything();
  const engine::TabletDescriptor tablet = node_.table("t")->tablets[0];
  auto cursor = node_.node().engine(tablet.shard).open_scan(tablet.id, tablet.epoch, spec);
  ASSERT_TRUE(cursor);
  ASSERT_EQ((*cursor)->run(sink, 100), engine::ScanStep::yielded);
  EXPECT_FALSE((*cursor)->between_rows());
  const std::string before = sink.last;
  (*cursor)->end_with_row();
  ASSERT_EQ((*cursor)->run(sink), engine::ScanStep::yielded);
  ASSERT_TRUE((*cursor)->between_rows());
  EXPECT_GT(sink.last, before);
  EXPECT_EQ((*cursor)->last_row(), sink.last);
  EXPECT_LT(sink.last, row_of(200));
}

struct CountedByAge : Counted {
  CountedByAge() : Counted(RetentionRule::max_age_us(kSecondUs)) {}
};

TEST_F(CountedByAge, BlocksOfRowsThatHaveDiedOfAgeStayClosed) {
  write(0, 2'000, now_us() - 5 * kSecondUs);
  write(1'000, 1'001, now_us() + 5 * kSecondUs);
  ASSERT_TRUE(node_.flush("t"));
  uint64_t entries = 0;
  EXPECT_EQ(rows(1, entries), std::vector<std::string>{row_of(1'000)});
  EXPECT_LT(entries, 200u) << "one block";
}

// A cell with its own expiry does not die of the rule, and one that was overwritten stays so.
TEST_F(CountedByAge, NotIfACellHasItsOwnExpiry) {
  const int64_t old_us = now_us() - 5 * kSecondUs;
  OwnedMutation lasting = set_cell("f:q", old_us, "overwritten");
  lasting.expire_at_us = now_us() + 3600 * kSecondUs;
  ASSERT_TRUE(node_.write("t", row_of(3), {lasting}));
  lasting.value = "lasting";
  ASSERT_TRUE(node_.write("t", row_of(4), {lasting}));
  ASSERT_TRUE(node_.flush("t"));
  write(0, 4, old_us);
  write(100, 2'000, old_us);
  ASSERT_TRUE(node_.flush("t"));
  uint64_t entries = 0;
  EXPECT_EQ(rows(0, entries), std::vector<std::string>{row_of(4)});
}

}  // namespace
}  // namespace cellar::support
