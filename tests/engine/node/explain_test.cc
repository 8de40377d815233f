// When cells die and why, by examples; the clock is moved to observe it. Random histories compare
// the same with the model (tests/engine/retention).
#include <gtest/gtest.h>

#include "tests/support/durations.h"
#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr int64_t kWrittenUs = 1'000'000'000;

class ExplainTest : public testing::Test {
 protected:
  ExplainTest() : node_(options()) {}
  static TestNodeOptions options() {
    TestNodeOptions options;
    options.start_wall_us = 100 * kHourUs;
    return options;
  }
  void create(RetentionRule rule) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    engine::FamilySpec& family = spec.families.emplace_back();
    family.name = "f";
    family.rule = std::move(rule);
    family.born_dead = BornDead::accept;
    ASSERT_TRUE(node_.create_table(std::move(spec)));
  }
  int64_t now_us() { return node_.world().clock().wall_us(); }
  void set(int64_t timestamp_us, int64_t expire_at_us = kNoExpiry) {
    std::vector<OwnedMutation> ops = {set_cell("f:q", timestamp_us, "v")};
    ops[0].expire_at_us = expire_at_us;
    ASSERT_TRUE(node_.write("t", "r", std::move(ops)));
  }
  std::vector<NotedCell> read() {
    ReadSpec spec;
    spec.rows = RowSet::everything();
    spec.include_dead = spec.with_expiry = true;
    return *node_.read_noted("t", spec);
  }
  // The cell is readable up to this instant and not at it.
  void expect_to_die_at(int64_t us) {
    const size_t living = node_.cells("t").size();
    node_.world().clock().advance_us(us - 1 - now_us());
    EXPECT_EQ(node_.cells("t").size(), living);
    node_.world().clock().advance_us(1);
    EXPECT_EQ(node_.cells("t").size(), living - 1);
  }

  TestNode node_;
};

// Reads of live cells leave a column once it has enough of them.
TEST_F(ExplainTest, AllThatIsDeadIsShownHoweverManyVersionsThereAre) {
  create(RetentionRule::max_versions(2));
  constexpr size_t kVersions = 100;
  for (size_t i = 0; i < kVersions; ++i) set(now_us() - static_cast<int64_t>(i));
  const auto cells = read();
  ASSERT_EQ(cells.size(), kVersions);
  for (size_t i = 0; i < kVersions; ++i) EXPECT_EQ(cells[i].note.dead, i >= 2) << i;
}

TEST_F(ExplainTest, OfAnIntersectionWhatComesTrueLastIsTheCause) {
  create(RetentionRule::intersection_of(
      {RetentionRule::max_age_us(48 * kHourUs), RetentionRule::max_versions(1)}));
  const int64_t old_us = now_us() - 3 * kHourUs;
  set(old_us);
  set(now_us() - kHourUs);
  const auto cells = read();
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].note.dies_at_us, INT64_MAX);
  EXPECT_EQ(cells[0].note.cause, DeathCause::none);
  EXPECT_EQ(cells[1].note.dies_at_us, old_us + 48 * kHourUs + 1);
  EXPECT_EQ(cells[1].note.cause, DeathCause::max_age);
  EXPECT_EQ(cells[1].note.clause, 0) << "all of the intersection";
  expect_to_die_at(cells[1].note.dies_at_us);
  // The other way round: already old, and displaced by another version.
  set(now_us());
  node_.world().clock().advance_us(200 * kHourUs);
  set(now_us());
  bool pushed_out = false;
  for (const NotedCell& cell : read())
    pushed_out |= cell.note.dead && cell.note.cause == DeathCause::max_versions;
  EXPECT_TRUE(pushed_out);
}

TEST_F(ExplainTest, OfAUnionItIsThePartThatKills) {
  create(RetentionRule::union_of(
      {RetentionRule::max_age_us(48 * kHourUs), RetentionRule::max_versions(2)}));
  for (int64_t hours = 3; hours > 0; --hours) set(now_us() - hours * kHourUs);
  auto cells = read();
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_TRUE(cells[2].note.dead);
  EXPECT_EQ(cells[2].note.cause, DeathCause::max_versions);
  EXPECT_EQ(cells[2].note.clause, 2);
  EXPECT_EQ(cells[1].note.cause, DeathCause::max_age);
  EXPECT_EQ(cells[1].note.clause, 1);
  expect_to_die_at(cells[1].note.dies_at_us);
  cells = read();
  EXPECT_TRUE(cells[1].note.dead);
  EXPECT_EQ(cells[1].note.cause, DeathCause::max_age) << "as it was foretold";
}

TEST_F(ExplainTest, AnOwnExpiryAndADeleteAreNamed) {
  create(RetentionRule::max_age_us(2 * kHourUs));
  const int64_t expiry_us = now_us() + 5 * kHourUs;
  set(now_us(), expiry_us);
  auto cells = read();
  ASSERT_EQ(cells.size(), 1u);
  EXPECT_EQ(cells[0].note.expire_at_us, expiry_us);
  EXPECT_EQ(cells[0].note.dies_at_us, expiry_us + 1);
  EXPECT_EQ(cells[0].note.cause, DeathCause::expiry);
  EXPECT_EQ(cells[0].note.clause, kNoClause);
  expect_to_die_at(expiry_us + 1);
  EXPECT_TRUE(read()[0].note.dead);
  set(now_us());
  const int64_t deleted_us = now_us();
  ASSERT_TRUE(node_.write("t", "r", {delete_row()}));
  cells = read();
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(cells[0].note.cause, DeathCause::deleted);
  EXPECT_EQ(cells[0].note.dies_at_us, deleted_us);
  EXPECT_EQ(cells[1].note.cause, DeathCause::expiry) << "it had died before it was deleted";
}

TEST_F(ExplainTest, WhatATightenedRuleHidesIsHiddenUntilTheWindowEnds) {
  create(RetentionRule::max_versions(2));
  for (int64_t hours = 3; hours > 0; --hours) set(now_us() - hours * kHourUs);
  engine::TableChange change;
  change.name = "t";
  engine::FamilySpec& family = change.alter.emplace_back();
  family.name = "f";
  family.rule = RetentionRule::max_versions(1);
  ASSERT_TRUE(node_.alter_table(change));
  auto cells = read();
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[1].note.cause, DeathCause::hidden);
  EXPECT_EQ(cells[2].note.cause, DeathCause::max_versions) << "the rule before had killed it";
  node_.world().clock().advance_us(25 * kHourUs);
  cells = read();
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[1].note.cause, DeathCause::max_versions) << "for good";
}

TEST_F(ExplainTest, AValueReplacedAtItsOwnTimestampIsNoDeadCell) {
  create(RetentionRule{});
  set(kWrittenUs);
  set(kWrittenUs);
  EXPECT_EQ(read().size(), 1u);
}

}  // namespace
}  // namespace cellar::support
