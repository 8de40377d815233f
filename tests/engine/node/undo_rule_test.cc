// A change of a rule that is undone within its window: everything that it hid is back in every
// tablet, also after merges and restarts; what cannot be undone is refused without any change.
#include <gtest/gtest.h>

#include "tests/support/durations.h"
#include "tests/support/rule_tables.h"

namespace cellar::support {
namespace {

using Strings = std::vector<std::string>;

class UndoRule : public testing::Test {
 protected:
  static TestNodeOptions options() {
    TestNodeOptions options;
    options.shards = 2;
    options.start_wall_us = 1'000'000 * kHourUs / 1000;
    return options;
  }
  void create(RetentionRule rule) {
    ASSERT_TRUE(node_.create_table(table_of_rule(std::move(rule), kHourUs)));
    for (const char* row : {"a", "z"}) {
      for (int64_t t = 1; t <= 5; ++t) {
        ASSERT_TRUE(node_.set("t", row, "f:q", t, std::to_string(t)));
      }
    }
  }
  Result<engine::TableEntry> set_rule(RetentionRule rule) {
    return node_.alter_table(rule_of_f(std::move(rule)));
  }
  Result<engine::TableEntry> undo(uint64_t expected_version = 0) {
    return node_.undo_rule({"t", "f", expected_version});
  }
  Strings values() {
    Strings out;
    for (const OwnedCell& cell : node_.cells("t")) out.push_back(cell.row + cell.value);
    return out;
  }
  const FamilySchema& family() { return node_.table("t")->schema.families[0]; }

  TestNode node_{options()};
};

TEST_F(UndoRule, BringsBackWhatTheChangeHidAfterMergesAndRestarts) {
  create(RetentionRule::max_versions(3));
  const Strings before = values();
  ASSERT_TRUE(set_rule(RetentionRule::max_age_us(1000)));
  EXPECT_EQ(values(), Strings{});
  ASSERT_TRUE(node_.compact("t"));
  node_.kill();
  ASSERT_TRUE(node_.reopen(3)) << node_.open_error()->to_string();
  EXPECT_EQ(values(), Strings{});
  const auto undone = undo();
  ASSERT_TRUE(undone) << undone.error().to_string();
  EXPECT_EQ(undone->schema.version, 3u);
  EXPECT_EQ(family().rule, RetentionRule::max_versions(3));
  EXPECT_TRUE(family().history.empty());
  EXPECT_EQ(values(), before);
  ASSERT_TRUE(node_.compact("t"));
  node_.crash(CrashPolicy::none);
  ASSERT_TRUE(node_.reopen(1)) << node_.open_error()->to_string();
  EXPECT_EQ(values(), before);
}

TEST_F(UndoRule, IsRefusedWhereTheTableIsNotAsTheCallerSawIt) {
  create(RetentionRule::max_versions(5));
  ASSERT_TRUE(set_rule(RetentionRule::max_versions(1)));
  EXPECT_EQ(undo(1).error().code, Errc::failed_precondition);
  EXPECT_EQ(values(), (Strings{"a5", "z5"}));
  ASSERT_TRUE(undo(2));
  EXPECT_EQ(values().size(), 10u);
  EXPECT_EQ(undo().error().code, Errc::failed_precondition) << "nothing is open any more";
  EXPECT_EQ(node_.undo_rule({"none", "f"}).error().code, Errc::not_found);
  EXPECT_EQ(node_.undo_rule({"t", "none"}).error().code, Errc::not_found);
  EXPECT_EQ(node_.table("t")->schema.version, 3u);
}

TEST_F(UndoRule, IsRefusedWhenTheWindowHasEndedAndOverARestart) {
  create(RetentionRule::max_versions(5));
  ASSERT_TRUE(set_rule(RetentionRule::max_versions(1)));
  node_.world().run_for_us(kHourUs + 1'000'000);
  EXPECT_EQ(undo().error().code, Errc::failed_precondition);
  node_.kill();
  ASSERT_TRUE(node_.reopen());
  EXPECT_EQ(undo().error().code, Errc::failed_precondition);
  EXPECT_EQ(values(), (Strings{"a5", "z5"}));
}

TEST_F(UndoRule, IsRefusedWhereTheFamilyForbidsTheOldRuleNow) {
  create(RetentionRule::max_age_us(kHourUs * 1'000'000));
  ASSERT_TRUE(set_rule(RetentionRule::max_versions(2)));
  engine::TableChange meaning = change_of_f();
  meaning.alter[0].timestamps = TimestampMeaning::sequence;
  ASSERT_TRUE(node_.alter_table(meaning));
  const auto refused = undo();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::failed_precondition);
  EXPECT_EQ(family().rule, RetentionRule::max_versions(2));
  EXPECT_EQ(values(), (Strings{"a5", "a4", "z5", "z4"}));
}

// Taken for times, the numbers would be of 1970, and dead by the rule of ages.
TEST_F(UndoRule, ALooserRuleOfNumbersDoesNotTakeBackARuleOfAges) {
  ASSERT_TRUE(node_.create_table(table_of_rule(RetentionRule::max_age_us(24 * kHourUs), kHourUs)));
  engine::TableChange meaning = change_of_f();
  meaning.alter[0].timestamps = TimestampMeaning::sequence;
  meaning.alter[0].rule = RetentionRule::max_versions(3);
  ASSERT_TRUE(node_.alter_table(meaning));
  for (int64_t number = 1; number <= 5; ++number) {
    ASSERT_TRUE(node_.set("t", "n", "f:q", number, fmt::format("n{}", number)));
  }
  const auto numbers = [this] {
    Strings found;
    for (const OwnedCell& cell : *node_.read_row("t", "n")) found.push_back(cell.value);
    return found;
  };
  EXPECT_EQ(numbers(), (Strings{"n5", "n4", "n3"}));
  ASSERT_TRUE(set_rule(RetentionRule::max_versions(5)));
  EXPECT_GE(numbers().size(), 3u);
  ASSERT_TRUE(node_.flush("t"));
  node_.world().run_for_us(10 * kHourUs);
  ASSERT_TRUE(node_.compact("t"));
  EXPECT_GE(numbers().size(), 3u);
  ASSERT_TRUE(node_.close());
  ASSERT_TRUE(node_.reopen());
  EXPECT_GE(numbers().size(), 3u);
}

// The clocks of two shards differ, and a merge takes time: a merge that finds the window just over
// must not have dropped what an undo at the last moment brings back.
TEST_F(UndoRule, MergesKeepWhatAChangeHidForTheMarginBeyondItsWindow) {
  create(RetentionRule::max_versions(5));
  ASSERT_TRUE(set_rule(RetentionRule::max_versions(1)));
  ASSERT_TRUE(node_.compact("t"));
  const uint64_t held = node_.stats().table_bytes;
  const auto compact_at = [this](int64_t us) {
    node_.world().run_for_us(us - node_.world().clock().wall_us());
    ASSERT_TRUE(node_.compact("t"));
  };
  const int64_t until_us = family().history[0].undo_until_us;
  compact_at(until_us + 1);
  // Equal except for how well the table's properties compress.
  EXPECT_NEAR(static_cast<double>(node_.stats().table_bytes), static_cast<double>(held), 8);
  compact_at(until_us + 300'000'000 + 1);
  EXPECT_LT(node_.stats().table_bytes, held - 50);
}

}  // namespace
}  // namespace cellar::support
