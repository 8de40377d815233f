#include "net/server/control/readiness.h"

#include <gtest/gtest.h>

#include "io/sim/manual_clock.h"

namespace cellar::server {
namespace {

class ReadinessTest : public testing::Test {
 protected:
  // Shard 0 has no problem.
  void beat(Conditions of_shard_1 = {}) {
    readiness_.beat(ShardId{0}, {});
    readiness_.beat(ShardId{1}, of_shard_1);
  }
  ManualClock clock_{0, 1'000'000};
  Readiness readiness_{clock_};
};

TEST_F(ReadinessTest, StartsThenServesThenDrains) {
  EXPECT_EQ(readiness_.state(), NodeState::starting);
  clock_.advance_us(3'600'000'000);  // a long replay is not a failure
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
  beat(Conditions().set(Condition::read_only, true));
  EXPECT_EQ(readiness_.state(), NodeState::read_only);
  EXPECT_NE(readiness_.reason().find("shard 1"), std::string::npos);
  beat();
  EXPECT_EQ(readiness_.state(), NodeState::ready);
}

TEST_F(ReadinessTest, TheWorstConditionOfAnyShardIsTheState) {
  readiness_.serve(2);
  readiness_.beat(ShardId{0}, Conditions().set(Condition::disk_hung, true));
  EXPECT_EQ(readiness_.state(), NodeState::disk_hung);
  EXPECT_EQ(readiness_.reason(), "the disk has not answered shard 0 for 5 s or longer");
  readiness_.beat(ShardId{1}, Conditions().set(Condition::read_only, true));
  EXPECT_EQ(readiness_.state(), NodeState::read_only);
  readiness_.drain(true);
  EXPECT_EQ(readiness_.state(), NodeState::draining);
  readiness_.drain(false);
  beat();
  EXPECT_EQ(readiness_.state(), NodeState::ready);
}

TEST_F(ReadinessTest, TheReasonSaysByHowMuchTrustedTimeLags) {
  readiness_.serve(2);
  readiness_.set_clock_lag(3'000'700);
  beat();
  EXPECT_EQ(readiness_.state(), NodeState::ready);
  EXPECT_EQ(readiness_.reason(), "every shard serves; trusted time lags 3s behind");
  readiness_.set_clock_lag(11'000'000);
  readiness_.beat(ShardId{0}, Conditions().set(Condition::clock_lags, true));
  EXPECT_EQ(readiness_.state(), NodeState::clock_lags);
  EXPECT_NE(readiness_.reason().find("lags 11s behind"), std::string::npos) << readiness_.reason();
  readiness_.set_clock_lag(0);
  beat();
  EXPECT_EQ(readiness_.reason(), "every shard serves");
}

// A condition without a row in the table would be ignored.
TEST_F(ReadinessTest, EveryConditionKeepsTheNodeFromBeingReady) {
  readiness_.serve(2);
  for (uint8_t bit = 0; bit < 8; ++bit) {
    const auto condition = static_cast<Condition>(bit);
    if (condition > kLastCondition) break;
    beat(Conditions().set(condition, true));
    EXPECT_NE(readiness_.state(), NodeState::ready) << int{bit};
    EXPECT_NE(readiness_.reason(), "every shard serves") << int{bit};
  }
}

TEST_F(ReadinessTest, AShardThatStaysAwayIsStuckAndThenTheNodeIsBroken) {
  readiness_.serve(2);
  beat();
  clock_.advance_us(Readiness::kStuckUs + 1);
  readiness_.beat(ShardId{0}, {});
  ASSERT_TRUE(readiness_.stuck_shard());
  EXPECT_EQ(*readiness_.stuck_shard(), ShardId{1});
  EXPECT_EQ(readiness_.state(), NodeState::ready);
  clock_.advance_us(Readiness::kBrokenUs);
  readiness_.beat(ShardId{0}, {});
  EXPECT_EQ(readiness_.state(), NodeState::broken);
  readiness_.drain(true);
  EXPECT_EQ(readiness_.state(), NodeState::broken) << "a proxy that drains softly must cut it";
  beat();
  EXPECT_EQ(readiness_.state(), NodeState::draining);
}

}  // namespace
}  // namespace cellar::server
