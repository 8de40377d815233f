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
  void set_until(std::string_view table, std::string_view row, std::string_view value,
                 int64_t until_us) {
    wire::ArenaText arena;
    const fb::Span f = arena.put("f");
    const fb::Span q = arena.put("q");
    const fb::Span v = arena.put(value);
    const auto flags = static_cast<uint8_t>(fb::MutationFlag::HasTimestamp) |
                       static_cast<uint8_t>(fb::MutationFlag::HasExpireAt);
    const fb::MutationRec rec(1000, until_us, f, q, v,
                              static_cast<uint8_t>(fb::MutationKind::SetCell),
                              static_cast<uint8_t>(flags), 0, 0);
    ASSERT_EQ(peer_.code_of(Op::MutateRow, wire::mutate_row_body(table, row, arena, {rec})),
              Errc::ok);
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

// The anchor of a renewal has reached the shard of the connection only.
TEST_F(ClockGate, AShardThatHasNotGotTheAnchorYetAnswersByTheTimeOfTheShardThatAsksIt) {
  const uint32_t home = bed_.shard(0).counters().accepted > 0 ? 0 : 1;
  ASSERT_EQ(bed_.shard(1 - home).counters().accepted, 0u);
  ASSERT_FALSE(peer_.ask(Op::CreateTable, wire::create_table_body("s", {"f"}, {"m"}))->error());
  for (const char* row : {"b", "x"}) set_until("s", row, "v", now_us() + 500 * kSecond);
  pass(800 * kSecond);
  bed_.shard(home).clock().anchor({.trusted_us = now_us(),
                                   .boot_us = bed_.world().clock().boot_us(),
                                   .permitted_us = now_us() + 2 * kSecond});
  ASSERT_TRUE(bed_.shard(1 - home).clock().stands());
  for (const char* row : {"b", "x"}) {
    peer_.received.clear();
    auto answer = peer_.ask(Op::ReadRow, wire::read_row_body("s", row));
    ASSERT_TRUE(answer);
    ASSERT_FALSE(answer->error());
    EXPECT_TRUE(cells_of(*answer).empty()) << row;
  }
  EXPECT_GT(bed_.shard(home).counters().handed_over, 0u);
}

// A stream that paused, on a node of which nothing else is asked: rows on both shards, each in a
// chunk of its own.
class PausedStream : public ClockGate, public testing::WithParamInterface<bool> {
 protected:
  void fill(int64_t until_us) {
    ASSERT_FALSE(peer_.ask(Op::CreateTable, wire::create_table_body("s", {"f"}, {"m"}))->error());
    for (const char* row : {"b", "c", "d", "x", "y", "z"})
      set_until("s", row, std::string(200 * 1024, 'v'), until_us);
  }
  void begin() {
    peer_.received.clear();
    peer_.send(wire::request_frame(
        Op::ReadRows, 7, wire::read_rows_body("s", {.reversed = GetParam(), .credits = 1})));
    pass(kSecond / 10);
    ASSERT_EQ(peer_.received.size(), 1u);
  }
  void go_on() {
    flatbuffers::FlatBufferBuilder builder;
    const auto body = wire::finish_body(builder, fb::CreateCredit(builder, 100));
    peer_.send(wire::request_frame(Op::ReadRows, 7, body, wire::FrameKind::credit));
    pass(3 * kSecond);
  }
};

TEST_P(PausedStream, ReturnsNothingThatDiedWhileItPaused) {
  fill(now_us() + 500 * kSecond);
  begin();
  pass(800 * kSecond);
  go_on();
  ASSERT_EQ(peer_.received.size(), 2u) << "a cell that is dead was returned";
  EXPECT_EQ(peer_.received.back().header.kind, wire::FrameKind::end);
  EXPECT_FALSE(peer_.received.back().error());
}

TEST_P(PausedStream, IsRefusedWhereTimeLagsFarBehind) {
  fill(now_us() + 500 * kSecond);
  begin();
  ASSERT_TRUE(bed_.faults().add("write path=manifest/* error=EIO"));
  pass(800 * kSecond);
  go_on();
  ASSERT_EQ(peer_.received.size(), 2u);
  EXPECT_EQ(peer_.received.back().code(), Errc::unavailable);
  EXPECT_EQ(bed_.shard(0).admission().scans() + bed_.shard(1).admission().scans(), 0u);
}

INSTANTIATE_TEST_SUITE_P(Directions, PausedStream, testing::Bool());

}  // namespace
}  // namespace cellar::server
