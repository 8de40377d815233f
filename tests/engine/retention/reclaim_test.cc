// What has died by itself leaves the disk although nobody writes, flushes or compacts.
#include <gtest/gtest.h>

#include "tests/support/test_node.h"

namespace cellar::support {
namespace {

constexpr int64_t kHourUs = 3'600'000'000;
constexpr int64_t kStartUs = 1'000'000 * kHourUs / 1000;

class Reclaim : public testing::Test {
 protected:
  static TestNodeOptions options() {
    TestNodeOptions options;
    options.start_wall_us = kStartUs;
    return options;
  }
  void create(RetentionRule rule, int64_t undo_window_us = 0) {
    engine::TableSpec spec;
    spec.name = "t";
    spec.granularity = Granularity::micros;
    engine::FamilySpec& family = spec.families.emplace_back();
    family.name = "f";
    family.rule = std::move(rule);
    family.undo_window_us = undo_window_us;
    family.born_dead = BornDead::accept;
    ASSERT_TRUE(node_.create_table(std::move(spec)));
  }
  int64_t now_us() { return node_.world().clock().wall_us(); }
  void set(const std::string& row, int64_t timestamp_us, int64_t expire_at_us = kNoExpiry) {
    OwnedMutation op = set_cell("f:q", timestamp_us, "value");
    op.expire_at_us = expire_at_us;
    ASSERT_TRUE(node_.write("t", row, {op}));
  }
  // Lets the node live on for a while by itself, and then finish what it has begun, for which time
  // may go on.
  void pass(int64_t us) {
    const int64_t until_us = now_us() + us;
    Timer alarm(node_.loop(0).timers(), [](void*) {}, nullptr);
    alarm.arm_after_us(us);
    node_.world().run_until([&] { return now_us() >= until_us; });
    node_.world().run_until([calls = 0]() mutable { return ++calls > 200; });
  }
  void pass_exactly(int64_t us) {
    const int64_t until_us = now_us() + us;
    Timer alarm(node_.loop(0).timers(), [](void*) {}, nullptr);
    alarm.arm_after_us(us);
    while (now_us() < until_us) node_.world().run_until([&] { return now_us() >= until_us; });
  }
  uint64_t tables() { return node_.stats().tables_on_disk; }

  TestNode node_{options()};
};

TEST_F(Reclaim, ATableThatIsWhollyDeadGoesUnreadWithinTheMargin) {
  create(RetentionRule::max_age_us(kHourUs));
  set("a", now_us());
  ASSERT_TRUE(node_.flush("t"));
  set("b", now_us());
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(tables(), 2u);
  pass_exactly(kHourUs + 200'000'000);  // dead, and the margin of 5 min has not passed
  EXPECT_TRUE(node_.cells("t").empty());
  EXPECT_EQ(tables(), 2u);
  pass(kHourUs / 2);
  EXPECT_EQ(tables(), 0u);
  EXPECT_EQ(node_.stats().compactions, 0u);
}

TEST_F(Reclaim, CellsThatExpireByThemselvesNeedNoRule) {
  create(RetentionRule{});
  set("a", 5, now_us() + kHourUs);
  ASSERT_TRUE(node_.flush("t"));
  pass(2 * kHourUs);
  EXPECT_EQ(tables(), 0u);
}

TEST_F(Reclaim, ATableThatMasksSomethingIsMergedAway) {
  create(RetentionRule{});
  set("a", 5);
  ASSERT_TRUE(node_.flush("t"));
  set("a", 5, now_us() + kHourUs);  // replaces it, and dies
  ASSERT_TRUE(node_.flush("t"));
  EXPECT_EQ(tables(), 2u);
  pass(2 * kHourUs);
  EXPECT_TRUE(node_.cells("t").empty());
  EXPECT_EQ(tables(), 0u);
  EXPECT_EQ(node_.stats().compactions, 1u);
}

TEST_F(Reclaim, PastRulesAreForgottenOnceNothingIsOlderThanTheChange) {
  create(RetentionRule::max_versions(3), kHourUs);
  for (int64_t t = 1; t <= 5; ++t) set("a", t);
  ASSERT_TRUE(node_.flush("t"));
  engine::TableChange change;
  change.name = "t";
  engine::FamilySpec& family = change.alter.emplace_back();
  family.name = "f";
  family.rule = RetentionRule::max_versions(1);
  ASSERT_TRUE(node_.alter_table(change));
  EXPECT_EQ(node_.cells("t").size(), 1u);
  EXPECT_EQ(node_.table("t")->schema.families[0].history.size(), 1u);
  pass(3 * kHourUs);
  EXPECT_EQ(node_.stats().compactions, 1u);
  change.alter[0].rule = RetentionRule::max_versions(2);
  ASSERT_TRUE(node_.alter_table(change));
  EXPECT_EQ(node_.cells("t").size(), 1u);                              // the window has passed
  EXPECT_EQ(node_.table("t")->schema.families[0].history.size(), 1u);  // of the last change alone
}

}  // namespace
}  // namespace cellar::support
