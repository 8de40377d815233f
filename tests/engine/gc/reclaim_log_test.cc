// Cells that die, before or after their flush, leave the log in time on an otherwise idle node.
#include <gtest/gtest.h>

#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

class DeadInLog : public ReclaimBed {
 protected:
  void fill(const std::string& mark, int64_t timestamp_us, int64_t expire_at_us = kNoExpiry,
            const std::string& table = "t") {
    for (int i = 0; i < 20; ++i) {
      OwnedMutation op = set_cell("f:q", timestamp_us, mark + std::string(500, 'v'));
      op.expire_at_us = expire_at_us;
      ASSERT_TRUE(node_.write(table, fmt::format("r{:02}", i), {op}));
    }
  }
  void create_other() {
    ASSERT_TRUE(node_.create_table("other", {"f"}));
    ASSERT_TRUE(node_.set("other", "row", "f:q", 5, "LIVES"));
  }
  // The number of log files that hold `mark`.
  size_t in_log(const std::string& mark) {
    size_t count = 0;
    for (const std::string& path : node_.disk().all_files()) {
      if (!path.starts_with("log/")) continue;
      const auto content = node_.disk().read_all(path);
      count += content && content->find(mark) != std::string::npos;
    }
    return count;
  }
};

TEST_F(DeadInLog, WhatDiesBeforeItIsFlushedLeaves) {
  create(RetentionRule::max_age_us(2 * kHourUs));
  fill("MARK", now_us());
  EXPECT_GT(in_log("MARK"), 0u);
  pass_exactly(2 * kHourUs);
  EXPECT_GT(in_log("MARK"), 0u);
  pass_exactly(65 * kMinuteUs);  // margin, deadline
  EXPECT_EQ(in_log("MARK"), 0u);
}

TEST_F(DeadInLog, AShortDeadlineIsHeldToo) {
  create(RetentionRule::max_age_us(kMinuteUs));
  engine::TableChange change;
  change.name = "t";
  change.options.reclaim_within_us = kMinuteUs;
  ASSERT_TRUE(node_.alter_table(change));
  fill("MARK", now_us());
  pass_exactly(7 * kMinuteUs);
  EXPECT_EQ(in_log("MARK"), 0u);
}

TEST_F(DeadInLog, WhatDiesAfterItWasFlushedLeaves) {
  create(RetentionRule::max_age_us(5 * kHourUs));
  fill("MARK", now_us());
  ASSERT_TRUE(node_.flush("t"));
  pass_exactly(5 * kHourUs);
  EXPECT_GT(in_log("MARK"), 0u) << "while it lives it may stay";
  pass_exactly(65 * kMinuteUs);
  EXPECT_EQ(in_log("MARK"), 0u);
}

TEST_F(DeadInLog, WhatIsDeletedReplacedOrPushedOutAfterItWasFlushedLeaves) {
  create(RetentionRule{});
  fill("DELETED", 5);
  ASSERT_TRUE(node_.flush("t"));
  ASSERT_TRUE(node_.drop_rows("t", "r", "s"));
  pass_exactly(65 * kMinuteUs);
  EXPECT_EQ(in_log("DELETED"), 0u);
  fill("REPLACED", 7);
  ASSERT_TRUE(node_.flush("t"));
  fill("BY", 7);
  ASSERT_TRUE(node_.flush("t"));
  pass_exactly(65 * kMinuteUs);
  EXPECT_EQ(in_log("REPLACED"), 0u);
}

TEST_F(DeadInLog, WhatAChangedRuleKillsLeaves) {
  create(RetentionRule{});
  fill("MARK", 5);
  ASSERT_TRUE(node_.flush("t"));
  pass_exactly(kHourUs);
  engine::TableChange change;
  change.name = "t";
  engine::FamilySpec& family = change.alter.emplace_back();
  family.name = "f";
  family.rule = RetentionRule::max_age_us(kMinuteUs);
  family.undo_window_us = 0;
  ASSERT_TRUE(node_.alter_table(change));
  pass_exactly(65 * kMinuteUs);
  EXPECT_EQ(in_log("MARK"), 0u);
}

// Live cells of another tablet hold the log back.
TEST_F(DeadInLog, WhatHoldsTheLogBackIsFlushed) {
  create_other();
  create(RetentionRule::max_age_us(2 * kHourUs));
  fill("MARK", now_us());
  pass_exactly(3 * kHourUs + 5 * kMinuteUs);
  EXPECT_EQ(in_log("MARK"), 0u);
  EXPECT_EQ(in_log("LIVES"), 0u);
  node_.crash(CrashPolicy::none);
  ASSERT_TRUE(node_.reopen()) << node_.open_error()->to_string();
  EXPECT_EQ(node_.cells("other").size(), 1u);
  EXPECT_TRUE(node_.cells("t").empty());
}

// The log has wrapped around: reused files hold their earlier contents.
TEST_F(DeadInLog, SegmentsKeptForReuseHoldNothingLonger) {
  create(RetentionRule::max_age_us(2 * kHourUs));
  for (int i = 0; i < 200; ++i) fill("MARK", now_us());
  EXPECT_GT(in_log("MARK"), 2u);
  pass_exactly(3 * kHourUs + 5 * kMinuteUs);
  EXPECT_EQ(in_log("MARK"), 0u);
  EXPECT_LE(node_.stats().log_bytes, 6 * TestNodeOptions().log.segment_bytes);
}

TEST_F(DeadInLog, WhatLivesCostsNothing) {
  create(RetentionRule::max_age_us(1000 * kHourUs));
  create_other();
  fill("MARK", now_us());
  ASSERT_TRUE(node_.flush("t"));
  const uint64_t flushes = node_.stats().flushes;
  pass_exactly(20 * kHourUs);
  EXPECT_EQ(node_.stats().flushes, flushes);
  EXPECT_GT(in_log("MARK"), 0u);
}

TEST_F(DeadInLog, ADroppedTableLeaves) {
  create(RetentionRule{});
  create_other();
  fill("MARK", 5);
  ASSERT_TRUE(node_.drop_table("t"));
  pass_exactly(65 * kMinuteUs);
  EXPECT_EQ(in_log("MARK"), 0u);
  EXPECT_EQ(node_.cells("other").size(), 1u);
}

}  // namespace
}  // namespace cellar::support
