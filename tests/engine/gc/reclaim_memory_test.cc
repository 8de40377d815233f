// Cells that die before they are flushed leave memory in time on an otherwise idle node.
#include <gtest/gtest.h>

#include "tests/engine/gc/reclaim_bed.h"

namespace cellar::support {
namespace {

class DeadInMemory : public ReclaimBed {
 protected:
  void fill(int64_t timestamp_us, int64_t expire_at_us = kNoExpiry) {
    for (int i = 0; i < 20; ++i) {
      OwnedMutation op = set_cell("f:q", timestamp_us, std::string(500, 'v'));
      op.expire_at_us = expire_at_us;
      ASSERT_TRUE(node_.write("t", fmt::format("r{:02}", i), {op}));
    }
  }
  uint64_t unflushed() { return figures().unflushed_bytes; }
};

TEST_F(DeadInMemory, WhatHasAgedCountsAsDeadAndLeaves) {
  create(RetentionRule::max_age_us(2 * kHourUs));
  fill(now_us());
  const uint64_t bytes = unflushed();
  EXPECT_EQ(figures().live_bytes, bytes);
  pass_exactly(2 * kHourUs + kMinuteUs);
  EXPECT_EQ(figures().live_bytes, 0u);
  EXPECT_EQ(figures().dead_bytes, bytes);
  EXPECT_EQ(figures().overdue_bytes, 0u);
  EXPECT_LT(figures().oldest_death_us, now_us());
  EXPECT_EQ(unflushed(), bytes) << "not before the margin is over";
  pass_exactly(64 * kMinuteUs);
  EXPECT_EQ(unflushed(), 0u);
  EXPECT_EQ(tables(), 0u) << "what is dead is not written";
  EXPECT_EQ(figures().dead_bytes, 0u);
}

TEST_F(DeadInMemory, AShortDeadlineIsHeldToo) {
  create(RetentionRule::max_age_us(kMinuteUs));
  engine::TableChange change;
  change.name = "t";
  change.options.reclaim_within_us = kMinuteUs;
  ASSERT_TRUE(node_.alter_table(change));
  fill(now_us());
  pass_exactly(7 * kMinuteUs);  // age, margin, deadline
  EXPECT_EQ(unflushed(), 0u);
}

TEST_F(DeadInMemory, OwnExpiriesNeedNoRule) {
  create(RetentionRule{});
  fill(5, now_us() + kHourUs);
  pass_exactly(kHourUs + kMinuteUs);
  EXPECT_GT(figures().dead_bytes, 0u);
  pass_exactly(64 * kMinuteUs);
  EXPECT_EQ(unflushed(), 0u);
}

TEST_F(DeadInMemory, WhatIsReplacedLeaves) {
  create(RetentionRule{});
  fill(5);
  fill(5);
  const uint64_t bytes = unflushed();
  pass_exactly(65 * kMinuteUs);
  EXPECT_EQ(unflushed(), 0u);
  EXPECT_LT(figures().bytes, bytes);
}

TEST_F(DeadInMemory, WhatIsPushedOutLeaves) {
  create(RetentionRule::max_versions(1));
  fill(5);
  fill(6);
  pass_exactly(65 * kMinuteUs);
  EXPECT_EQ(unflushed(), 0u);
  EXPECT_EQ(figures().dead_bytes, 0u);
}

TEST_F(DeadInMemory, WhatIsDeletedLeaves) {
  create(RetentionRule{});
  fill(5);
  ASSERT_TRUE(node_.write("t", "r03", {delete_row()}));
  pass_exactly(65 * kMinuteUs);
  EXPECT_EQ(unflushed(), 0u);
}

TEST_F(DeadInMemory, WhatOnlyLivesStays) {
  create(RetentionRule::max_age_us(1000 * kHourUs));
  fill(now_us());
  const uint64_t bytes = unflushed();
  pass_exactly(20 * kHourUs);
  EXPECT_EQ(unflushed(), bytes);
}

}  // namespace
}  // namespace cellar::support
