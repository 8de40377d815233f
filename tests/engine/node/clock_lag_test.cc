// A node that cannot write an anchor: trusted time stands, and its lag is reported.
#include <gtest/gtest.h>

#include "engine/node/clock_keeper.h"
#include "tests/engine/node/clock_bed.h"

namespace cellar::engine {
namespace {

class ClockLag : public support::ClockBed {
 protected:
  // The node is read continuously.
  void pass(int64_t us) {
    for (int64_t passed_us = 0; passed_us < us; passed_us += kSecondUs / 10) {
      node_->world().run_for_us(kSecondUs / 10);
      ASSERT_TRUE(node_->read_row("t", "a"));
    }
  }
  void fail_anchors() { ASSERT_TRUE(faults_.add("write path=manifest/* error=EIO")); }
};

TEST_F(ClockLag, IsNoneWhileAnchorsAreWritten) {
  for (int i = 0; i < 50; ++i) {
    pass(kSecondUs / 5);
    EXPECT_EQ(node_->clock_report().lag_us, 0);
    EXPECT_EQ(node_->shard(1).clock().now_us(), clock().wall_us());
  }
}

TEST_F(ClockLag, GrowsFromWhereThePermissionEndsWhenAnchorsFail) {
  pass(kSecondUs);
  fail_anchors();
  const int64_t permit_us = EngineOptions().clock_permit_us;
  pass(permit_us + 3 * kSecondUs);
  const int64_t stood_us = trusted_us(0);
  const ClockReport early = node_->clock_report();
  EXPECT_EQ(early.trusted_us, stood_us) << "answers are as of then";
  EXPECT_EQ(early.lag_us, clock().wall_us() - stood_us);
  EXPECT_GE(early.lag_us, 3 * kSecondUs);
  EXPECT_LT(early.lag_us, ClockKeeper::kMaxLagUs);
  pass(20 * kSecondUs);
  EXPECT_EQ(trusted_us(0), stood_us);
  EXPECT_EQ(trusted_us(1), stood_us);
  EXPECT_EQ(node_->node().clock_lag_us(), early.lag_us + 20 * kSecondUs);
  EXPECT_EQ(node_->clock_report().held_us, 0) << "the wall clock can be believed";
}

TEST_F(ClockLag, CountsNoBackwardStepOfTheWallClock) {
  pass(kSecondUs);
  clock().set_wall_us(clock().wall_us() - kHourUs);
  pass(20 * kSecondUs);
  EXPECT_EQ(node_->clock_report().lag_us, 0);
  fail_anchors();
  pass(20 * kSecondUs);
  EXPECT_EQ(node_->clock_report().lag_us, 0) << "an anchor would change nothing";
}

TEST_F(ClockLag, CountsNoForwardStepOfTheWallClock) {
  pass(kSecondUs);
  fail_anchors();
  clock().set_wall_us(clock().wall_us() + 400 * kHourUs);
  pass(20 * kSecondUs);
  EXPECT_LE(node_->clock_report().lag_us, 21 * kSecondUs);
  EXPECT_GE(node_->clock_report().lag_us, 17 * kSecondUs);
}

TEST_F(ClockLag, ADiskThatDoesNotAnswerIsNotWaitedForLongAndTimeGoesOnWhenItDoes) {
  pass(kSecondUs);
  ASSERT_TRUE(faults_.add("write path=manifest/* hang"));
  pass(8 * kSecondUs);
  EXPECT_GE(node_->clock_report().lag_us, 5 * kSecondUs);
  const int64_t before_us = clock().wall_us();
  ASSERT_TRUE(node_->read_row("t", "a"));
  EXPECT_LT(clock().wall_us() - before_us, kSecondUs / 10) << "it is known that no anchor comes";
  faults_.clear();
  for (FaultyFs* fs : all_fs_) fs->release_hung();
  pass(kSecondUs);
  EXPECT_EQ(node_->clock_report().lag_us, 0);
  EXPECT_EQ(trusted_us(1), clock().wall_us());
}

TEST_F(ClockLag, RenewalsAreTriedOnThoughNobodyAsks) {
  pass(kSecondUs);
  ASSERT_TRUE(faults_.add("write path=manifest/* hang nth=1"));
  pass(8 * kSecondUs);
  ASSERT_GT(node_->clock_report().lag_us, 0);
  faults_.clear();
  for (FaultyFs* fs : all_fs_) fs->release_hung();
  node_->world().run_for_us(kSecondUs);
  EXPECT_EQ(node_->node().clock_lag_us(), 0);
}

}  // namespace
}  // namespace cellar::engine
