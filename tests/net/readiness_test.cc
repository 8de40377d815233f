#include "net/server/readiness.h"

#include <gtest/gtest.h>

namespace cellar::server {
namespace {

class ReadinessTest : public testing::Test {
 protected:
  void beat(bool takes_writes = true) {
    for (uint32_t i = 0; i < 2; ++i) readiness_.beat(ShardId{i}, takes_writes || i == 0);
  }
  ManualClock clock_{0, 1'000'000};
  Readiness readiness_{clock_};
};

TEST_F(ReadinessTest, StartsThenServesThenDrains) {
  EXPECT_EQ(readiness_.state(), NodeState::starting);
  clock_.advance_us(3'600'000'000);  // a long replay is no illness
  EXPECT_EQ(readiness_.state(), NodeState::starting);
  EXPECT_FALSE(readiness_.stuck_shard());
  readiness_.serve(2);
  EXPECT_EQ(readiness_.state(), NodeState::ready);
  readiness_.stop();
  EXPECT_EQ(readiness_.state(), NodeState::draining);
}

TEST_F(ReadinessTest, AnOperatorsDrainCanBeTakenBackAndAStopCannot) {
  readiness_.serve(2);
  readiness_.drain(true);
  EXPECT_EQ(readiness_.state(), NodeState::draining);
  EXPECT_EQ(readiness_.reason(), "an operator drains the node");
  readiness_.drain(false);
  EXPECT_EQ(readiness_.state(), NodeState::ready);
  readiness_.stop();
  readiness_.drain(false);
  EXPECT_EQ(readiness_.state(), NodeState::draining);
}

TEST_F(ReadinessTest, OneShardThatTakesNoWritesMakesItReadOnly) {
  readiness_.serve(2);
  beat(false);
  EXPECT_EQ(readiness_.state(), NodeState::read_only);
  EXPECT_NE(readiness_.reason().find("shard 1"), std::string::npos);
  beat();
  EXPECT_EQ(readiness_.state(), NodeState::ready);
}

TEST_F(ReadinessTest, AShardThatStaysAwayIsStuckAndThenTheNodeIsBroken) {
  readiness_.serve(2);
  beat();
  clock_.advance_us(Readiness::kStuckUs + 1);
  readiness_.beat(ShardId{0}, true);
  ASSERT_TRUE(readiness_.stuck_shard());
  EXPECT_EQ(*readiness_.stuck_shard(), ShardId{1});
  EXPECT_EQ(readiness_.state(), NodeState::ready);
  clock_.advance_us(Readiness::kBrokenUs);
  readiness_.beat(ShardId{0}, true);
  EXPECT_EQ(readiness_.state(), NodeState::broken);
  readiness_.drain(true);
  EXPECT_EQ(readiness_.state(), NodeState::broken) << "a proxy that drains softly must cut it";
  beat();
  EXPECT_EQ(readiness_.state(), NodeState::draining);
}

}  // namespace
}  // namespace cellar::server
