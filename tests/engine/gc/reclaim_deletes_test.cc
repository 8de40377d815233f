// Cells that deletes cover stay covered and leave the disk, in whichever run a merge left the
// deletes.
#include <gtest/gtest.h>

#include "io/base/random.h"
#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

class Deletes : public ReclaimBed {
 protected:
  static TestNodeOptions small_tables() {
    TestNodeOptions options = ReclaimBed::options();
    options.engine.table_bytes = 1500;
    return options;
  }
  Deletes() : Deletes(small_tables()) {}
  explicit Deletes(TestNodeOptions options) : ReclaimBed(std::move(options)) {}

  void put(const std::string& row, int64_t timestamp_us, size_t bytes) {
    std::string value(bytes, '\0');
    for (char& c : value) c = static_cast<char>(random_.below(256));
    ASSERT_TRUE(node_.write("t", row, {set_cell("f:q", timestamp_us, value)}));
  }
  size_t rows_from(char first) {
    size_t rows = 0;
    for (const OwnedCell& cell : node_.cells("t")) rows += cell.row[0] == first;
    return rows;
  }
  void alter(RetentionRule rule) {
    engine::TableChange change;
    change.name = "t";
    change.alter.push_back({.name = "f", .rule = std::move(rule)});
    ASSERT_TRUE(node_.alter_table(change));
  }

  Random random_{7};
};

// ---- a range delete covers rows of all tables of its run, and one table holds it

// Half of the rows "a" are 9 hours old and die in an hour; the rows "z" are to be dropped.
class RangeDeletesOfARun : public Deletes {
 protected:
  void fill() {
    for (int i = 0; i < 20; ++i)
      put(fmt::format("a{:02}", i), i % 2 == 0 ? now_us() - 9 * kHourUs : now_us(), 200);
    for (int i = 0; i < 20; ++i) put(fmt::format("z{:02}", i), now_us(), 200);
    ASSERT_TRUE(node_.flush("t"));
    ASSERT_GT(tables(), 3u);
  }
  void expect_dropped_for_good() {
    EXPECT_EQ(rows_from('z'), 0u);
    EXPECT_EQ(rows_from('a'), 10u) << "what has aged is gone as well";
    node_.kill();
    ASSERT_TRUE(node_.reopen());
    EXPECT_EQ(rows_from('z'), 0u);
    pass(3 * kHourUs);
    EXPECT_EQ(rows_from('z'), 0u);
    EXPECT_LT(figures().bytes, 10u * 400) << "neither has to stay on the disk";
  }
  static RetentionRule aging() { return RetentionRule::max_age_us(10 * kHourUs); }
  static RetentionRule counting() {
    return RetentionRule::union_of({aging(), RetentionRule::max_versions(5)});
  }
};

TEST_F(RangeDeletesOfARun, StayWhereATableIsRewrittenByItself) {
  create(counting());
  fill();
  alter(aging());
  pass_exactly(17 * kMinuteUs);
  ASSERT_TRUE(node_.drop_rows("t", "z", "zz"));
  EXPECT_EQ(rows_from('z'), 0u);
  pass_exactly(3 * kHourUs);  // the merge that drops the past rule, then what is overdue
  expect_dropped_for_good();
}

TEST_F(RangeDeletesOfARun, StayAfterAMergeSoonAfterAnAlteration) {
  create(counting());
  fill();
  alter(aging());
  pass_exactly(6 * kMinuteUs);
  ASSERT_TRUE(node_.drop_rows("t", "z", "zz"));
  ASSERT_TRUE(node_.compact("t"));
  EXPECT_EQ(rows_from('z'), 0u);
  pass_exactly(3 * kHourUs);
  expect_dropped_for_good();
}

TEST_F(RangeDeletesOfARun, StayAfterAnUndo) {
  create(aging(), kHourUs);
  fill();
  alter(counting());
  pass_exactly(kMinuteUs);
  ASSERT_TRUE(node_.drop_rows("t", "z", "zz"));
  ASSERT_TRUE(node_.compact("t"));
  engine::RuleUndo undo;
  undo.table = "t";
  undo.family = "f";
  ASSERT_TRUE(node_.undo_rule(undo));
  EXPECT_EQ(rows_from('z'), 0u);
  pass_exactly(9 * kHourUs / 4);
  expect_dropped_for_good();
}

// ---- deletes that a merge had to keep, in the same run as the cells they cover

class DeletesInOneRun : public Deletes {
 protected:
  DeletesInOneRun() : Deletes(ReclaimBed::options()) {}
  void fill(RetentionRule rule) {
    create(std::move(rule));
    for (int i = 0; i < 100; ++i) put(fmt::format("r{:02}", i), now_us(), 2000);
    ASSERT_TRUE(node_.flush("t"));
    pass_exactly(10 * kMinuteUs);
  }
  void delete_all() {
    for (int i = 0; i < 100; ++i)
      ASSERT_TRUE(node_.write("t", fmt::format("r{:02}", i), {delete_row()}));
  }
  // The deletes were merged with the cells they cover before the margin had passed.
  void expect_reclaimed() {
    ASSERT_TRUE(node_.compact("t"));
    EXPECT_GT(figures().bytes, 100'000u) << "the margin is not over";
    EXPECT_GT(figures().dead_bytes, figures().bytes * 8 / 10);
    EXPECT_EQ(figures().overdue_bytes, 0u);
    pass_exactly(65 * kMinuteUs);
    EXPECT_LT(figures().bytes, 1000u);
    EXPECT_EQ(figures().dead_bytes, 0u);
  }
};

TEST_F(DeletesInOneRun, ARangeDeleteMergedWithinTheMarginLeavesWithWhatItCovers) {
  fill(RetentionRule::max_versions(3));
  ASSERT_TRUE(node_.drop_rows("t", "r", "s"));
  expect_reclaimed();
}

TEST_F(DeletesInOneRun, RowDeletesMergedWithinTheMarginLeaveWithWhatTheyCover) {
  fill(RetentionRule::max_versions(3));
  delete_all();
  expect_reclaimed();
}

// While a change can be undone, no merge drops what was deleted since: it counts as held, not as
// overdue, and no merge is started in vain.
TEST_F(DeletesInOneRun, WhatAnUndoWindowKeepsIsHeldAndNotMergedInVain) {
  create(RetentionRule::max_versions(3), 24 * kHourUs);
  for (int i = 0; i < 100; ++i) put(fmt::format("r{:02}", i), now_us(), 2000);
  ASSERT_TRUE(node_.flush("t"));
  alter(RetentionRule::max_versions(2));
  pass_exactly(10 * kMinuteUs);
  ASSERT_TRUE(node_.drop_rows("t", "r", "s"));
  ASSERT_TRUE(node_.compact("t"));
  const uint64_t before = compactions();
  pass_exactly(12 * kHourUs);
  EXPECT_EQ(figures().overdue_bytes, 0u);
  EXPECT_GT(figures().held_bytes, 100'000u);
  EXPECT_EQ(compactions(), before);
  pass_exactly(14 * kHourUs);
  EXPECT_LT(figures().bytes, 1000u);
}

// ---- deletes that were not flushed

TEST_F(DeletesInOneRun, ADeleteInTheMemtableOfAQuietShardWakesReclaiming) {
  fill(RetentionRule{});
  ASSERT_TRUE(node_.drop_rows("t", "r", "s"));
  EXPECT_GT(figures().dead_bytes, 100'000u);
  pass_exactly(65 * kMinuteUs);
  EXPECT_LT(figures().bytes, 1000u);
  EXPECT_EQ(figures().overdue_bytes, 0u);
}

TEST_F(DeletesInOneRun, RowDeletesInMemoryCountAsDeaths) {
  fill(RetentionRule{});
  delete_all();
  pass_exactly(5 * kMinuteUs);  // figures may be as old as a sixteenth of the deadline
  EXPECT_GT(figures().dead_bytes, figures().bytes * 8 / 10);
  pass_exactly(60 * kMinuteUs);
  EXPECT_LT(figures().bytes, 1000u);
}

// However many range deletes there are, what they cover is seen.
class ManyRangeDeletes : public ReclaimBed {};

TEST_F(ManyRangeDeletes, AllCountTowardsWhatIsDead) {
  create({});
  Random random(7);
  const auto row = [](int i) { return fmt::format("r{:04}", i); };
  for (int i = 0; i < 1000; ++i) {
    std::string value(2048, ' ');
    for (char& c : value) c = static_cast<char>(random.next());
    ASSERT_TRUE(node_.write("t", row(i), {set_cell("f:q", now_us(), value)}));
  }
  ASSERT_TRUE(node_.flush("t"));
  ASSERT_TRUE(node_.compact("t"));
  const uint64_t before = figures().bytes;
  for (int i = 0; i < 1000; i += 2) ASSERT_TRUE(node_.drop_rows("t", row(i), row(i) + '\0'));
  ASSERT_TRUE(node_.flush("t"));
  pass(3 * kHourUs);
  EXPECT_LT(figures().bytes, before * 6 / 10);
  EXPECT_EQ(node_.cells("t").size(), 500u);
}

}  // namespace
}  // namespace cellar::support
