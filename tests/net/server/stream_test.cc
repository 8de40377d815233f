// Long reads: chunks, credits, cancel, disconnects, deadlines.
#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;

class StreamTest : public testing::TestWithParam<const char*> {
 protected:
  // 60 rows of 40 KiB: thirty chunks, on whichever shard holds the prefix.
  static constexpr int kRows = 60;

  StreamTest() {
    CHECK(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})) == Errc::ok);
    const std::string value(40 * 1024, 'v');
    for (int i = 0; i < kRows; ++i) {
      const std::string key = fmt::format("{}{:03}", GetParam(), i);
      CHECK(peer.code_of(Op::MutateRow, wire::set_body("t", key, "f", "q", value, 1000)) ==
            Errc::ok);
    }
  }
  size_t chunks() const {
    size_t n = 0;
    for (const Answer& a : peer.received) n += a.header.kind == wire::FrameKind::chunk;
    return n;
  }
  size_t rows() {
    size_t n = 0;
    for (Answer& a : peer.received) n += cells_of(a).size();
    return n;
  }

  ServerBed bed;
  Peer peer{bed};
};

TEST_P(StreamTest, NoMoreChunksThanCredits) {
  peer.send(wire::request_frame(Op::ReadRows, 5, wire::read_rows_body("t", {.credits = 2})));
  bed.world().run_for_us(2'000'000);
  EXPECT_EQ(chunks(), 2u);
  peer.send(wire::credit_frame(5, 3));
  bed.world().run_for_us(2'000'000);
  EXPECT_EQ(chunks(), 5u);
  peer.send(wire::credit_frame(5, 64));
  auto end = peer.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->header.kind, wire::FrameKind::end);
  EXPECT_EQ(end->root<fb::ReadEnd>()->rows(), static_cast<uint64_t>(kRows));
  EXPECT_EQ(rows(), static_cast<size_t>(kRows));
}

// Of some chunks the transport takes a part at once and the rest later.
TEST_P(StreamTest, APeerThatReadsLateGetsTheSame) {
  const auto row = [](int i) { return fmt::format("{}late{:03}", GetParam(), i); };
  const auto value = [](int i) { return std::string(40'001, static_cast<char>('a' + i % 26)); };
  for (int i = 0; i < kRows; ++i) {
    ASSERT_EQ(peer.code_of(Op::MutateRow, wire::set_body("t", row(i), "f", "q", value(i), 1000)),
              Errc::ok);
  }
  std::string frame = wire::request_frame(
      Op::ReadRows, 5, wire::read_rows_body("t", {.ranges = {{row(0), ""}}, .credits = 64}));
  wire::add_checksum(frame, 0);  // the answer has one too, which the peer checks
  for (const bool late : {false, true}) {
    peer.received.clear();
    if (late) peer.pause_reading();
    peer.send(frame);
    bed.world().run_for_us(1'000'000);
    if (late) peer.resume_reading();
    ASSERT_TRUE(peer.answer(5));
    int next = 0;
    for (Answer& chunk : peer.received) {
      ASSERT_NE(chunk.header.flags & wire::kFrameChecked, 0);
      for (const std::string& cell : cells_of(chunk)) {
        ASSERT_EQ(cell, fmt::format("{} f:q@1000={}", row(next), value(next)));
        ++next;
      }
    }
    EXPECT_EQ(next, kRows);
  }
}

TEST_P(StreamTest, CancelEndsAStreamThatWaitsForCredit) {
  peer.send(wire::request_frame(Op::ReadRows, 5, wire::read_rows_body("t", {.credits = 1})));
  bed.world().run_for_us(1'000'000);
  peer.send(wire::request_frame(Op::ReadRows, 5, "", wire::FrameKind::cancel));
  auto end = peer.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code(), Errc::cancelled);
  EXPECT_EQ(bed.shard(0).admission().scans() + bed.shard(1).admission().scans(), 0u);
}

TEST_P(StreamTest, AClientThatLeavesEndsItsStream) {
  peer.send(wire::request_frame(Op::ReadRows, 5, wire::read_rows_body("t", {.credits = 1})));
  bed.world().run_for_us(1'000'000);
  EXPECT_EQ(bed.shard(0).admission().scans() + bed.shard(1).admission().scans(), 1u);
  peer.hang_up();
  bed.world().run_for_us(1'000'000);
  EXPECT_EQ(bed.shard(0).admission().scans() + bed.shard(1).admission().scans(), 0u);
  EXPECT_EQ(bed.shard(0).admission().connections() + bed.shard(1).admission().connections(), 0u);
}

TEST_P(StreamTest, ADeadlineEndsAStream) {
  wire::FrameHeader header;
  const std::string body = wire::read_rows_body("t", {.credits = 1});
  header.body_bytes = static_cast<uint32_t>(body.size());
  header.op = static_cast<uint16_t>(Op::ReadRows);
  header.request_id = 5;
  header.deadline_ms = 500;
  std::string frame;
  wire::append_header(frame, header);
  peer.send(frame + body);
  auto end = peer.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code(), Errc::deadline_exceeded);
}

TEST_P(StreamTest, ARowLargerThanAChunkComesInPiecesAndIsMarkedComplete) {
  wire::ArenaText arena;
  std::vector<fb::MutationRec> recs;
  for (int i = 0; i < 10; ++i) {
    recs.push_back(
        wire::set_rec(arena, "f", fmt::format("q{}", i), std::string(50 * 1024, 'x'), 1000));
  }
  const std::string key = std::string(GetParam()) + "wide";
  ASSERT_EQ(peer.code_of(Op::MutateRow, wire::mutate_row_body("t", key, arena, recs)), Errc::ok);
  peer.received.clear();
  auto end = peer.ask(Op::ReadRow, wire::read_row_body("t", key));
  ASSERT_TRUE(end);
  EXPECT_EQ(end->header.kind, wire::FrameKind::end);
  EXPECT_GT(chunks(), 1u);
  size_t cells = 0;
  bool complete = false;
  for (Answer& a : peer.received) {
    cells += cells_of(a).size();
    const auto* rows = a.root<fb::ReadChunk>()->rows();
    complete = (rows->Get(rows->size() - 1)->flags() & 2) != 0;
  }
  EXPECT_EQ(cells, 10u);
  EXPECT_TRUE(complete);
}

INSTANTIATE_TEST_SUITE_P(EitherShard, StreamTest, testing::Values("a", "z"));

}  // namespace
}  // namespace cellar::server
