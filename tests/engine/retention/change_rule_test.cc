// The history of a family after changes of its rule.
#include "engine/retention/change_rule.h"

#include <gtest/gtest.h>

#include "engine/retention/explain.h"
#include "engine/retention/family_retention.h"

namespace cellar::engine {
namespace {

RetentionRule versions(int64_t n) { return RetentionRule::max_versions(n); }

class ChangeRule : public testing::Test {
 protected:
  ChangeRule() {
    family_.name = "f";
    family_.undo_window_us = 1000;
  }
  void begin(RetentionRule rule) { family_.rule = std::move(rule); }
  Result<void> change(RetentionRule rule, bool close_oldest = false) {
    now_us_ += 10;
    RuleChange change;
    change.rule = std::move(rule);
    change.stamp = CommitStamp{static_cast<uint64_t>(now_us_) * 1000};
    change.now_us = now_us_;
    change.close_oldest_undo_window = close_oldest;
    TRY(family_, change_rule(family_, change));
    return {};
  }
  Result<void> undo() {
    TRY(family_, undo_change(family_, now_us_));
    return {};
  }
  // "3 until 10, now 4"
  std::string story() const {
    std::string text;
    for (const PastRule& past : family_.history) {
      text += fmt::format("{} until {}{}, ", describe_rule(past.rule), past.until.value() / 1000,
                          past.can_be_undone(now_us_) ? " (open)" : "");
    }
    return text + describe_rule(family_.rule);
  }

  FamilySchema family_;
  int64_t now_us_ = 0;
};

TEST_F(ChangeRule, ATightenedRuleIsTakenBackByOneThatLoosensIt) {
  begin(versions(3));
  ASSERT_TRUE(change(versions(1)));
  EXPECT_EQ(story(), "maxversions=3 until 10 (open), maxversions=1");
  ASSERT_TRUE(change(versions(4)));
  EXPECT_EQ(story(), "maxversions=3 until 20, maxversions=4");
}

TEST_F(ChangeRule, WhatIsTakenBackMayLeaveATighteningOfItsOwn) {
  begin(versions(5));
  ASSERT_TRUE(change(versions(1)));
  ASSERT_TRUE(change(versions(2)));
  EXPECT_EQ(story(), "maxversions=5 until 20 (open), maxversions=2");
  ASSERT_TRUE(change(versions(5)));
  EXPECT_EQ(story(), "maxversions=5");
}

TEST_F(ChangeRule, AfterTheWindowNothingComesBack) {
  begin(versions(5));
  ASSERT_TRUE(change(versions(1)));
  now_us_ += 990;  // and ten more by the change: the last microsecond of the window
  FamilySchema at_the_bound = family_;
  ASSERT_TRUE(change(versions(5)));
  EXPECT_EQ(story(), "maxversions=5");
  family_ = at_the_bound;
  now_us_ -= 9;
  ASSERT_TRUE(change(versions(5)));
  EXPECT_EQ(story(), "maxversions=5 until 10, maxversions=1 until 1011, maxversions=5");
}

TEST_F(ChangeRule, TheSameRuleInOtherWordsChangesNoHistory) {
  begin(versions(5));
  ASSERT_TRUE(change(RetentionRule::union_of({versions(5), versions(9)})));
  EXPECT_TRUE(family_.history.empty());
}

TEST_F(ChangeRule, ANinthUndoWindowIsRefusedOrClosesTheOldest) {
  begin(versions(20));
  for (int64_t n = 19; n > 11; --n) ASSERT_TRUE(change(versions(n)));
  ASSERT_EQ(family_.history.size(), kMaxUndoWindows);
  const auto refused = change(versions(11));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::failed_precondition);
  EXPECT_EQ(family_.rule, versions(12));
  ASSERT_TRUE(change(versions(11), true));
  EXPECT_EQ(family_.history.front().undo_until_us, 0);
  ASSERT_TRUE(change(versions(20)));
  EXPECT_EQ(story(), "maxversions=20 until 10, maxversions=19 until 110, maxversions=20");
}

TEST_F(ChangeRule, ASixtyFifthPastRuleIsRefused) {
  family_.undo_window_us = 0;
  begin(versions(1));
  for (size_t n = 0; n < kMaxPastRules; ++n) ASSERT_TRUE(change(versions(1 + (n + 1) % 2)));
  EXPECT_EQ(family_.history.size(), kMaxPastRules);
  const auto refused = change(versions(9));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::failed_precondition);
  EXPECT_EQ(family_.rule, versions(1));
  ASSERT_TRUE(change(versions(1))) << "a change of nothing needs no room";
}

TEST_F(ChangeRule, AnUndoTakesTheNewestOpenChangeBackAndNoOther) {
  begin(versions(5));
  ASSERT_TRUE(change(versions(3)));
  ASSERT_TRUE(change(RetentionRule::max_age_us(5000)));
  ASSERT_TRUE(undo());
  EXPECT_EQ(story(), "maxversions=5 until 10 (open), maxversions=3");
  ASSERT_TRUE(undo());
  EXPECT_EQ(story(), "maxversions=5");
  const auto refused = undo();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::failed_precondition);
  EXPECT_EQ(story(), "maxversions=5");
}

TEST_F(ChangeRule, AnUndoLeavesChangesMadeLaterThatCannotBeUndone) {
  begin(versions(5));
  ASSERT_TRUE(change(RetentionRule::max_age_us(5000)));
  family_.undo_window_us = 0;
  ASSERT_TRUE(change(versions(2)));
  EXPECT_EQ(story(), "maxversions=5 until 10 (open), maxage=5ms until 20, maxversions=2");
  ASSERT_TRUE(undo());
  EXPECT_EQ(story(), "maxversions=5 until 20, maxversions=2");
}

TEST_F(ChangeRule, AnUndoIsRefusedFromTheFirstMicrosecondBehindItsWindow) {
  begin(versions(5));
  ASSERT_TRUE(change(versions(1)));
  now_us_ += 1001;
  EXPECT_EQ(undo().error().code, Errc::failed_precondition);
  now_us_ -= 1;
  ASSERT_TRUE(undo());
  EXPECT_EQ(story(), "maxversions=5");
}

TEST_F(ChangeRule, OnlyRulesThatNothingNeedsAreForgotten) {
  begin(versions(1));
  ASSERT_TRUE(change(versions(2)));
  ASSERT_TRUE(change(versions(1)));
  ASSERT_TRUE(change(RetentionRule{}));
  ASSERT_TRUE(change(versions(1)));
  EXPECT_EQ(story(),
            "maxversions=1 until 10, maxversions=2 until 30, keep everything until 40 (open), "
            "maxversions=1");
  forget_rules(family_, CommitStamp{35'000}, now_us_);
  EXPECT_EQ(story(), "keep everything until 40 (open), maxversions=1");
  forget_rules(family_, kMaxStamp, now_us_);
  EXPECT_EQ(family_.history.size(), 1u);
  forget_rules(family_, kMaxStamp, now_us_ + 5000);
  EXPECT_TRUE(family_.history.empty());
}

TEST(StepRule, ThresholdsFallWithAge) {
  const auto both = [](bool any) {
    const std::vector<RetentionRule> parts = {RetentionRule::max_age_us(2000), versions(2)};
    return StepRule(any ? RetentionRule::union_of(parts) : RetentionRule::intersection_of(parts));
  };
  EXPECT_EQ(both(true).rank_at(2000), 2u);
  EXPECT_EQ(both(true).rank_at(2001), 0u);
  EXPECT_EQ(both(true).fatal_age_us(), 2000);
  EXPECT_EQ(both(false).rank_at(2000), kNoRank);
  EXPECT_EQ(both(false).rank_at(2001), 2u);
  EXPECT_FALSE(both(false).fatal_age_us());
  EXPECT_TRUE(both(false).keeps_all_of(both(true)));
  EXPECT_FALSE(both(true).keeps_all_of(both(false)));
}

TEST(Explain, NamesTheSmallestPartThatCondemns) {
  // union(max_age 2 ms, intersection(max_versions 2, max_age 1 ms))
  const RetentionRule rule = RetentionRule::union_of(
      {RetentionRule::max_age_us(2000),
       RetentionRule::intersection_of({versions(2), RetentionRule::max_age_us(1000)})});
  EXPECT_EQ(matching_clause(rule, {2001, 0, false}), 1u);
  EXPECT_EQ(matching_clause(rule, {2000, 2, false}), 2u);
  EXPECT_EQ(matching_clause(rule, {2000, 1, false}), std::nullopt);
  EXPECT_EQ(matching_clause(rule, {9000, 9, true}), std::nullopt);
}

}  // namespace
}  // namespace cellar::engine
