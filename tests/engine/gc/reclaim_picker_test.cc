#include "engine/gc/reclaim_picker.h"

#include <gtest/gtest.h>

namespace cellar::engine {
namespace {

ReclaimInput table(size_t run, double bytes, double dead, bool alone = true) {
  ReclaimInput input;
  input.run = run;
  input.bytes = bytes;
  input.dead = input.overdue = dead;
  input.alone = alone;
  return input;
}

TEST(ReclaimPicker, WritesTheTableAnewThatGivesMostForWhatIsWritten) {
  const std::vector<ReclaimInput> tables = {table(0, 1000, 100), table(1, 500, 450),
                                            table(1, 4000, 900)};
  const auto work = pick_reclaim(tables, false);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->table, 1u);
  EXPECT_EQ(work->dead, 450);
}

TEST(ReclaimPicker, WhatIsDeadAndNotOverdueIsNoReason) {
  std::vector<ReclaimInput> tables = {table(0, 1000, 900)};
  tables[0].overdue = 0;
  EXPECT_FALSE(pick_reclaim(tables, false));
  EXPECT_FALSE(pick_reclaim({}, false));
}

TEST(ReclaimPicker, WhatNewerRunsKilledGoesWhenTheyAreMergedWithIt) {
  std::vector<ReclaimInput> tables = {table(0, 100, 0), table(1, 100, 0), table(2, 1000, 50)};
  tables[2].killed.push_back({.killer = 1, .dead = 600, .overdue = 600});
  auto work = pick_reclaim(tables, false);
  ASSERT_TRUE(work);
  EXPECT_FALSE(work->table);
  EXPECT_EQ(work->first_run, 1u);
  EXPECT_EQ(work->bytes, 1100);
  EXPECT_FALSE(work->flush);
  work = pick_reclaim(tables, true);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->first_run, 0u) << "where versions count it is all or nothing";
}

TEST(ReclaimPicker, WhatAMemtableKilledAsksForItsFlush) {
  std::vector<ReclaimInput> tables = {table(0, 100, 0)};
  tables[0].killed.push_back({.killer = SIZE_MAX, .dead = 60, .overdue = 60});
  const auto work = pick_reclaim(tables, false);
  ASSERT_TRUE(work);
  EXPECT_TRUE(work->flush);
}

TEST(ReclaimPicker, LeavesDamagedTablesAlone) {
  std::vector<ReclaimInput> tables = {table(0, 100, 90), table(1, 100, 10)};
  tables[0].damaged = true;
  const auto work = pick_reclaim(tables, false);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->table, 1u);
  tables[1].damaged = true;
  EXPECT_FALSE(pick_reclaim(tables, false));
}

TEST(ReclaimPicker, NoMoreIsTakenAwayThanThereIs) {
  std::vector<ReclaimInput> tables = {table(0, 100, 90, false), table(1, 100, 10, false)};
  tables[1].killed.push_back({.killer = 0, .dead = 500, .overdue = 500});
  const auto work = pick_reclaim(tables, false);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->first_run, 0u);
  EXPECT_EQ(work->dead, 190);
}

// ---- what only work with a damaged table would remove

using Blockers = std::vector<std::optional<size_t>>;

TEST(ReclaimBlockers, WithoutADamagedTableThereIsNone) {
  std::vector<ReclaimInput> tables = {table(0, 1000, 100), table(1, 500, 450, false),
                                      table(1, 4000, 0)};
  tables[2].killed.push_back({.killer = 0, .dead = 600, .overdue = 600});
  EXPECT_EQ(reclaim_blockers(tables, false), Blockers(3));
  EXPECT_EQ(reclaim_blockers(tables, true), Blockers(3));
}

TEST(ReclaimBlockers, WhatOnlyAMergeWithADamagedTableRemovesIsBlockedByIt) {
  std::vector<ReclaimInput> tables = {table(0, 100, 0), table(1, 100, 50, false),
                                      table(2, 1000, 0)};
  tables[2].damaged = true;
  EXPECT_EQ(reclaim_blockers(tables, false), (Blockers{std::nullopt, 2, std::nullopt}));
  EXPECT_FALSE(pick_reclaim(tables, false));
  tables[1].alone = true;  // then it needs no other table
  EXPECT_EQ(reclaim_blockers(tables, false), Blockers(3));
}

TEST(ReclaimBlockers, ADamagedTableBlocksItself) {
  std::vector<ReclaimInput> tables = {table(0, 100, 60)};
  tables[0].damaged = true;
  EXPECT_EQ(reclaim_blockers(tables, false), Blockers{0});
}

}  // namespace
}  // namespace cellar::engine
