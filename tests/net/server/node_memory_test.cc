// The memory of the whole node for its clients: streams and large frames wait for room, then
// proceed.
#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;

using Room = NodeMemory::Room;
using Turn = NodeMemory::Turn;

TEST(NodeMemory, BoundsHold) {
  NodeMemory memory(1u << 30, 33u << 20);
  EXPECT_EQ(memory.answers_bound(), 64u << 20);
  EXPECT_EQ(memory.requests_bound(), 128u << 20);
  EXPECT_EQ(memory.large_bound(), 96u << 20);
  EXPECT_EQ(memory.wide_bound(), 32u << 20);
  memory.count_answers(32 << 20);
  EXPECT_TRUE(memory.answers_full(1));
  EXPECT_FALSE(memory.answers_full(0));
  memory.count_answers(32 << 20);
  EXPECT_TRUE(memory.answers_full(0));
  // A small budget still admits the largest frame, and short ones at the same time.
  EXPECT_EQ(NodeMemory(64u << 20, 33u << 20).large_bound(), 33u << 20);
  EXPECT_EQ(NodeMemory(64u << 20, 33u << 20).requests_bound(), 35u << 20);
}

TEST(NodeMemory, LargeFramesLeaveRoomToShortOnes) {
  NodeMemory memory(1u << 30, 33u << 20);
  std::array<NodeMemory::Claim, 4> large{};
  for (uint32_t i = 0; i < large.size(); ++i) large[i].party = i;
  for (uint32_t i = 0; i < 3; ++i) {
    EXPECT_EQ(memory.grow(large[i], 32u << 20, Turn::newcomer), Room::given);
  }
  EXPECT_EQ(memory.grow(large[3], 2u << 20, Turn::newcomer), Room::full);
  NodeMemory::Claim small;
  EXPECT_EQ(memory.grow(small, 1u << 20, Turn::newcomer), Room::given);
  memory.shrink(large[0], 0);
  EXPECT_EQ(memory.grow(large[3], 2u << 20, Turn::newcomer), Room::given);
  for (NodeMemory::Claim& claim : large) memory.shrink(claim, 0);
  memory.shrink(small, 0);
  EXPECT_EQ(memory.requests(), 0u);
}

TEST(NodeMemory, OneAloneAlwaysHasRoomToGrow) {
  NodeMemory memory(64u << 20, 33u << 20);
  NodeMemory::Claim alone;
  for (size_t bytes = 2u << 20; bytes <= 128u << 20; bytes *= 2) {
    EXPECT_EQ(memory.grow(alone, bytes, Turn::newcomer), Room::given) << bytes;
  }
  NodeMemory::Claim other;
  EXPECT_EQ(memory.grow(other, 2u << 20, Turn::newcomer), Room::full);
}

TEST(NodeMemory, APartyThatHasHalfOfTheRoomComesAfterOthers) {
  NodeMemory memory(1u << 30, 33u << 20);
  std::array<NodeMemory::Claim, 3> greedy{};
  EXPECT_EQ(memory.grow(greedy[0], 33u << 20, Turn::newcomer), Room::given);
  EXPECT_EQ(memory.grow(greedy[1], 15u << 20, Turn::newcomer), Room::given);
  EXPECT_EQ(memory.grow(greedy[2], 2u << 20, Turn::queued), Room::party_full);
  NodeMemory::Claim other{.party = 1};
  EXPECT_EQ(memory.grow(other, 33u << 20, Turn::queued), Room::given);
  EXPECT_EQ(memory.grow(greedy[2], 2u << 20, Turn::beyond_share), Room::given);
  // As another party it uses that party's share.
  memory.move(greedy[1], 2);
  EXPECT_EQ(memory.grow(greedy[2], 3u << 20, Turn::queued), Room::given);
}

TEST(NodeMemory, NobodyOvertakesThoseWhoWait) {
  NodeMemory memory(1u << 30, 33u << 20);
  memory.count_waiting(NodeMemory::Kind::large_frames, 1);
  NodeMemory::Claim newcomer;
  EXPECT_EQ(memory.grow(newcomer, 2u << 20, Turn::newcomer), Room::full);
  EXPECT_EQ(memory.grow(newcomer, 1u << 20, Turn::newcomer), Room::given) << "another kind of room";
  EXPECT_EQ(memory.grow(newcomer, 2u << 20, Turn::queued), Room::given) << "its turn";
}

TEST(NodeMemory, WideBuffersEnd) {
  NodeMemory memory(64u << 20, 33u << 20);
  EXPECT_TRUE(memory.take_wide(2u << 20));
  EXPECT_FALSE(memory.take_wide(64u << 10));
  memory.give_wide(2u << 20);
  EXPECT_TRUE(memory.take_wide(64u << 10));
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
  bed.shard(0).count_answers(full);
  peer.received.clear();
  peer.send(wire::request_frame(Op::ReadRows, 5, wire::read_rows_body("t")));
  bed.world().run_for_us(2'000'000);
  EXPECT_TRUE(peer.received.empty());
  EXPECT_EQ(peer.code_of(Op::ReadRow, wire::read_row_body("t", "z")), Errc::ok);
  bed.shard(1).count_answers(-full);
  auto end = peer.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->root<fb::ReadEnd>()->rows(), 1u);
}

// More connections than there are 512 KiB shares begin a scan and read none of it.
TEST_F(NodeMemoryTest, ScansThatNobodyReadsKeepNoOtherScanWaiting) {
  constexpr size_t kRows = 40;
  for (size_t i = 0; i < kRows; ++i) {
    const std::string row = fmt::format("{}{:03}", i % 2 == 0 ? "a" : "z", i);
    ASSERT_EQ(peer.code_of(Op::MutateRow,
                           wire::set_body("t", row, "f", "q", std::string(40'000, 'v'), 1000)),
              Errc::ok);
  }
  std::vector<std::unique_ptr<Peer>> idle;
  for (int i = 0; i < 50; ++i) {
    idle.push_back(std::make_unique<Peer>(bed));
    idle.back()->pause_reading();
    idle.back()->send(
        wire::request_frame(Op::ReadRows, 5, wire::read_rows_body("t", {.credits = 64})));
  }
  bed.world().run_for_us(2'000'000);
  EXPECT_LE(memory().answers(), memory().answers_bound() + (1u << 20));
  for (int i = 0; i < 5; ++i) {
    const int64_t began_us = bed.world().now_us();
    Peer reader(bed);
    EXPECT_EQ(read_all(reader, "t").size(), kRows);
    EXPECT_LT(bed.world().now_us() - began_us, 1'000'000);
  }
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
  // Incomplete frames.
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
