// Requests while trusted time stands.
#include "net/server/shard/clock_gate.h"

#include <gtest/gtest.h>

#include "engine/node/clock_keeper.h"
#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;

constexpr int64_t kSecond = 1'000'000;

class ClockGate : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_FALSE(peer_.ask(Op::CreateTable, wire::create_table_body("t", {"f"}))->error());
    ASSERT_EQ(set("a"), Errc::ok);
  }
  Errc set(std::string_view row) {
    return peer_.code_of(Op::MutateRow, wire::set_body("t", row, "f", "q", "v", 1000));
  }
  Errc read() { return peer_.code_of(Op::ReadRow, wire::read_row_body("t", "a")); }
  void pass(int64_t us) { bed_.world().run_for_us(us); }
  int64_t now_us() { return bed_.world().clock().wall_us(); }
  int64_t pinged_us() {
    auto answer = peer_.ask(Op::Ping, "");
    return answer && !answer->error() ? answer->root<fb::PingReply>()->now_us() : 0;
  }

  ServerBed bed_;
  Peer peer_{bed_};
};

TEST_F(ClockGate, AfterAnIdleTimeARequestIsAnsweredAtOnceAndByTheTimeOfNow) {
  for (int i = 0; i < 3; ++i) {
    pass(800 * kSecond);
    const int64_t before_us = now_us();
    EXPECT_EQ(i == 1 ? set("b") : read(), Errc::ok);
    EXPECT_LT(now_us() - before_us, kSecond / 20);
    EXPECT_GE(bed_.shard(1).clock().now_us(), before_us);
  }
}

// Its token has the node's current time, which is far ahead of where trusted time stands.
TEST_F(ClockGate, AfterAnIdleTimeADropWithATokenSucceeds) {
  Peer one(bed_, true, wire::hello_as("me"));
  for (int i = 0; i < 3; ++i) {
    pass(800 * kSecond);
    const std::string token = fmt::format("drop {}", i);
    const std::string body = wire::drop_range_body("t", "a", "z", token, pinged_us());
    auto answer = one.ask(Op::DropRowRange, body);
    ASSERT_TRUE(answer);
    EXPECT_FALSE(answer->error()) << answer->message();
    EXPECT_TRUE(read_all(one, "t").empty());
    pass(20 * kSecond);
    EXPECT_EQ(set("a"), Errc::ok);
    EXPECT_EQ(one.code_of(Op::DropRowRange, body), Errc::ok) << "a repetition";
    EXPECT_EQ(read_all(one, "t").size(), 1u);
  }
}

TEST_F(ClockGate, WhoOnlyAsksWhatTimeItIsCausesNoAnchor) {
  pass(10 * kSecond);
  ASSERT_TRUE(bed_.faults().add("write path=manifest/* delay_us=1"));
  for (int i = 0; i < 100; ++i) {
    pass(10 * kSecond);
    EXPECT_GE(pinged_us(), now_us() - kSecond / 10) << "clients date their tokens by it";
    EXPECT_FALSE(peer_.ask(Op::ServerInfo, "")->error());
    EXPECT_FALSE(peer_.ask(Op::ConfirmTime, "")->error());
  }
  EXPECT_EQ(bed_.faults().hits(), 0u);
}

TEST_F(ClockGate, ReadsAreRefusedWhereTimeLagsFarBehindAndServedBefore) {
  ASSERT_TRUE(bed_.faults().add("write path=manifest/* error=EIO"));
  for (int i = 0; i < 110; ++i) {
    pass(kSecond / 10);
    ASSERT_EQ(read(), Errc::ok) << i;
  }
  pass(4 * kSecond);
  EXPECT_EQ(read(), Errc::unavailable);
  EXPECT_EQ(set("b"), Errc::unavailable);
  auto answer = peer_.ask(Op::ServerInfo, "");
  ASSERT_FALSE(answer->error());
  const auto* info = answer->root<fb::ServerInfoReply>();
  EXPECT_GT(info->lag_us(), 10 * kSecond);
  EXPECT_EQ(info->held_us(), 0);
  EXPECT_FALSE(info->stands());
}

TEST_F(ClockGate, ADiskThatDoesNotAnswerKeepsTheFirstRequestNoLongerThanThePatience) {
  pass(800 * kSecond);
  ASSERT_TRUE(bed_.faults().add("write path=manifest/* hang"));
  const int64_t before_us = now_us();
  EXPECT_EQ(read(), Errc::unavailable) << "time stands where it was long ago";
  EXPECT_LE(now_us() - before_us, engine::ClockKeeper::kPatienceUs + kSecond / 10);
  bed_.faults().clear();
  for (uint32_t i = 0; i < 2; ++i) dynamic_cast<FaultyFs&>(bed_.fs(i)).release_hung();
  pass(2 * kSecond);
  EXPECT_EQ(read(), Errc::ok);
}

}  // namespace
}  // namespace cellar::server
