// What a repair keeps beside rows: rules and their undo windows, tokens, time, open range deletes.
#include "engine/manifest/clock_state.h"
#include "engine/repair/repair_work.h"
#include "engine/store/manifest/manifest_file.h"
#include "tests/engine/repair/repair_bed.h"
#include "tests/engine/write/range_token_bed.h"
#include "tests/engine/write/token_bed.h"
#include "tests/support/rule_tables.h"

namespace cellar::engine {
namespace {

using support::RangeTokenBed;
using support::TestNode;
using support::TestNodeOptions;
using support::TokenAsk;
using support::TokenBed;

constexpr int64_t kHourUs = 3'600'000'000;

class RepairState : public RepairBed {
 protected:
  static TestNodeOptions at(int64_t wall_us) {
    TestNodeOptions options;
    options.start_wall_us = wall_us;
    return options;
  }
  static constexpr int64_t kStartUs = 1'000 * kHourUs;
};

TEST_F(RepairState, ARuleIsKeptWithItsHistoryAndCanBeUndone) {
  TestNode node(at(kStartUs));
  ASSERT_TRUE(node.create_table(support::table_of_rule(RetentionRule::max_versions(3), kHourUs)));
  for (const char* row : {"a", "z"}) {
    for (int64_t t = 1; t <= 5; ++t) ASSERT_TRUE(node.set("t", row, "f:q", t, std::to_string(t)));
  }
  ASSERT_TRUE(node.flush("t"));
  const Cells before = node.cells("t");
  ASSERT_EQ(before.size(), 6u);
  ASSERT_TRUE(node.alter_table(support::rule_of_f(RetentionRule::max_versions(1))));
  ASSERT_TRUE(node.compact("t"));
  const Cells after = node.cells("t");
  ASSERT_EQ(after.size(), 2u);
  give_format(node.disk());
  const Repaired repaired = repair(node.disk());
  ASSERT_TRUE(repaired.report);
  EXPECT_TRUE(repaired.report->complete());
  TestNode again(at(kStartUs), repaired.disk->clone());
  ASSERT_TRUE(again.is_open());
  EXPECT_EQ(again.cells("t"), after);
  EXPECT_EQ(again.audit_log().entries.size(), node.audit_log().entries.size());
  ASSERT_TRUE(again.undo_rule({"t", "f", 0}));
  EXPECT_EQ(again.cells("t"), before);
}

TEST_F(RepairState, TokensOfAcknowledgedWritesAreKnown) {
  TokenBed bed(at(kStartUs));
  ASSERT_TRUE(bed.node.create_table("t", {"f"}));
  TokenAsk ask;
  ask.by = 5;
  ask.issued_us = bed.now_us();
  EXPECT_EQ(bed.ask(ask), "OK 5");
  give_format(bed.node.disk());
  const Repaired repaired = repair(bed.node.disk());
  ASSERT_TRUE(repaired.report);
  EXPECT_EQ(repaired.report->commits, 1u);
  TokenBed again(at(kStartUs), repaired.disk->clone());
  EXPECT_EQ(again.ask(ask), "OK 5 again");
  EXPECT_EQ(again.count(), 5);
}

TEST_F(RepairState, TokensOfRangeDeletesAreKnown) {
  RangeTokenBed bed(at(kStartUs));
  ASSERT_TRUE(bed.node.create_table("t", {"f"}, {"m"}));
  bed.put("b", "1");
  bed.put("n", "1");
  const support::DropAsk ask{.issued_us = bed.now_us()};
  EXPECT_EQ(bed.drop(ask), "OK");
  bed.put("c", "2");
  give_format(bed.node.disk());
  const Repaired repaired = repair(bed.node.disk());
  ASSERT_TRUE(repaired.report);
  RangeTokenBed again(at(kStartUs), repaired.disk->clone());
  EXPECT_EQ(again.rows(), "c=2 ");
  EXPECT_EQ(again.drop(ask), "OK");
  EXPECT_EQ(again.rows(), "c=2 ") << "the repetition deletes nothing";
}

// The machine's clock is behind: time starts where the source's ended.
TEST_F(RepairState, TimeDoesNotGoBack) {
  TestNode node(at(kStartUs));
  ASSERT_TRUE(node.create_table("t", {"f"}));
  ASSERT_TRUE(node.set("t", "r", "f:q", 1, "x"));
  give_format(node.disk());
  for (const bool lost : {false, true}) {
    SCOPED_TRACE(lost);
    const auto source = node.disk().clone();
    if (lost) {
      for (const std::string& path : files(*source, "manifest/")) remove(*source, path);
    }
    const Repaired repaired = repair(*source);
    ASSERT_TRUE(repaired.report);
    TestNode again(at(kStartUs - 10 * kHourUs), repaired.disk->clone());
    ASSERT_TRUE(again.is_open());
    EXPECT_GE(again.clock_report().trusted_us, kStartUs);
  }
}

TEST_F(RepairState, AGapThatIsPendingStaysSo) {
  ClockState known;
  known.trusted_us = known.permitted_us = kStartUs;
  known.believable_us = kStartUs + 72 * kHourUs;
  known.held_before_us = 9;
  const auto clock =
      clock_not_before(known, CommitStamp{(static_cast<uint64_t>(kStartUs) + 5) * 1000});
  ASSERT_TRUE(clock);
  EXPECT_GT(clock->trusted_us, kStartUs);
  EXPECT_EQ(clock->believable_us, known.believable_us);
  EXPECT_EQ(clock->held_before_us, known.held_before_us);
}

}  // namespace
}  // namespace cellar::engine
