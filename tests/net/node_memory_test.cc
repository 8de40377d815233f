// What the whole node holds for its clients: streams and large frames wait for room, and go on.
#include <gtest/gtest.h>

#include "tests/net/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;

TEST(NodeMemory, BoundsHold) {
  NodeMemory memory(1u << 30, 33u << 20);
  EXPECT_EQ(memory.answers_bound(), 64u << 20);
  EXPECT_EQ(memory.requests_bound(), 128u << 20);
  EXPECT_TRUE(memory.reserve_request(100u << 20));
  EXPECT_FALSE(memory.reserve_request(29u << 20));
  EXPECT_TRUE(memory.reserve_request(28u << 20));
  EXPECT_TRUE(memory.requests_full());
  memory.count_requests(-ptrdiff_t{128u << 20});
  EXPECT_TRUE(memory.reserve_request(200u << 20)) << "one alone always has room";
  // A small budget still takes the largest frame.
  EXPECT_EQ(NodeMemory(64u << 20, 33u << 20).requests_bound(), 33u << 20);
}

class NodeMemoryTest : public testing::Test {
 protected:
  NodeMemoryTest() {
    CHECK(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})) == Errc::ok);
  }
  NodeMemory& memory() { return bed.shard(0).memory(); }

  ServerBed bed;
  Peer peer{bed};
};

TEST_F(NodeMemoryTest, AStreamWaitsForRoomAndAPointReadDoesNot) {
  ASSERT_EQ(peer.code_of(Op::MutateRow, wire::set_body("t", "z", "f", "q", "v", 1000)), Errc::ok);
  const auto full = static_cast<ptrdiff_t>(memory().answers_bound());
  memory().count_answers(full);
  peer.received.clear();
  peer.send(wire::request_frame(Op::ReadRows, 5, wire::read_rows_body("t")));
  bed.world().run_for_us(2'000'000);
  EXPECT_TRUE(peer.received.empty());
  EXPECT_EQ(peer.code_of(Op::ReadRow, wire::read_row_body("t", "z")), Errc::ok);
  memory().count_answers(-full);
  auto end = peer.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->root<fb::ReadEnd>()->rows(), 1u);
}

TEST_F(NodeMemoryTest, ALargeFrameWaitsForRoomAndASmallOneDoesNot) {
  const auto full = static_cast<ptrdiff_t>(memory().requests_bound());
  memory().count_requests(full);
  Peer large(bed);
  large.send(wire::request_frame(
      Op::MutateRow, 5, wire::set_body("t", "a", "f", "q", std::string(3u << 20, 'v'), 1000)));
  bed.world().run_for_us(2'000'000);
  EXPECT_TRUE(large.received.empty());
  EXPECT_EQ(peer.code_of(Op::MutateRow, wire::set_body("t", "a", "f", "q", "v", 1000)), Errc::ok);
  memory().count_requests(-full);
  auto done = large.answer(5);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->code(), Errc::ok);
}

TEST_F(NodeMemoryTest, EverythingIsGivenBack) {
  for (int i = 0; i < 20; ++i) {
    const std::string row = fmt::format("{}{}", i % 2 == 0 ? "a" : "z", i);
    ASSERT_EQ(peer.code_of(Op::MutateRow,
                           wire::set_body("t", row, "f", "q", std::string(2u << 20, 'v'), 1000)),
              Errc::ok);
  }
  EXPECT_EQ(read_all(peer, "t").size(), 20u);
  {
    Peer leaves(bed);
    leaves.send(wire::request_frame(Op::ReadRows, 5, wire::read_rows_body("t", {.credits = 1})));
    bed.world().run_for_us(1'000'000);
  }
  // Frames that are cut off in the middle.
  {
    Peer leaves(bed);
    const std::string frame = wire::request_frame(
        Op::MutateRow, 5, wire::set_body("t", "a", "f", "q", std::string(3u << 20, 'v'), 1000));
    leaves.send(frame.substr(0, frame.size() / 2));
    bed.world().run_for_us(1'000'000);
    EXPECT_GT(memory().requests(), 0u);
  }
  peer.received.clear();
  EXPECT_EQ(peer.code_of(Op::Ping, ""), Errc::ok);
  bed.world().run_for_us(1'000'000);
  EXPECT_EQ(memory().answers(), 0u);
  EXPECT_EQ(memory().requests(), 0u);
}

}  // namespace
}  // namespace cellar::server
