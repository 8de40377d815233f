// Streams with a slow reader: they use no processor, do not grow, pin nothing for long, and resume
// exactly where they stopped.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;
using wire::FrameKind;

class StreamWaitTest : public testing::TestWithParam<std::tuple<const char*, bool>> {
 protected:
  static constexpr int kRows = 60;
  static constexpr int64_t kMinuteUs = 60'000'000;

  StreamWaitTest() {
    CHECK(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})) == Errc::ok);
    for (int i = 0; i < kRows; ++i) put(key(i), std::string(40 * 1024, 'v'), 1000);
  }

  std::string key(int i) const { return fmt::format("{}{:03}", std::get<0>(GetParam()), i); }
  bool reversed() const { return std::get<1>(GetParam()); }
  void put(const std::string& row, const std::string& value, int64_t at_us) {
    CHECK(peer.code_of(Op::MutateRow, wire::set_body("t", row, "f", "q", value, at_us)) ==
          Errc::ok);
  }
  void begin(uint64_t id, uint32_t credits) {
    reader.send(wire::request_frame(
        Op::ReadRows, id, wire::read_rows_body("t", {.reversed = reversed(), .credits = credits})));
    bed.world().run_for_us(100'000);
  }
  uint64_t slices() { return bed.shard(0).counters().slices + bed.shard(1).counters().slices; }
  uint64_t released() {
    return bed.shard(0).counters().released_cursors + bed.shard(1).counters().released_cursors;
  }
  uint32_t scans() { return bed.shard(0).admission().scans() + bed.shard(1).admission().scans(); }
  // The keys of complete rows, in the order of their arrival.
  std::vector<std::string> rows() {
    std::vector<std::string> keys;
    for (Answer& a : reader.received) {
      const auto* chunk = a.root<fb::ReadChunk>();
      if (a.header.kind != FrameKind::chunk || chunk == nullptr) continue;
      for (const fb::RowRec* row : *chunk->rows()) {
        if ((row->flags() & 2) != 0) {
          keys.emplace_back(
              wire::bytes_of(chunk->arena()).substr(row->key().at(), row->key().size()));
        }
      }
    }
    return keys;
  }
  std::vector<std::string> all_keys() const {
    std::vector<std::string> keys;
    for (int i = 0; i < kRows; ++i) keys.push_back(key(reversed() ? kRows - 1 - i : i));
    return keys;
  }

  ServerBed bed;
  Peer peer{bed};
  Peer reader{bed};
};

// Its cursor was released long before.
TEST_P(StreamWaitTest, AReaderThatAsksForNothingLosesItsStreamWithTheTimeOfSilence) {
  begin(5, 1);
  EXPECT_EQ(scans(), 1u);
  bed.world().run_for_us(14 * kMinuteUs);
  EXPECT_EQ(scans(), 1u);
  bed.world().run_for_us(2 * kMinuteUs);
  EXPECT_EQ(scans(), 0u);
  auto end = reader.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code(), Errc::unavailable);
  EXPECT_EQ(end->message(), "the client has asked for no chunk for 15m");
}

// A row in memory is begun without a cursor; the one that is made at the pause stands inside it.
TEST_P(StreamWaitTest, ARowThatWasBegunIsNotSentAgain) {
  const std::string row = key(kRows);
  const int versions = 10;
  for (int i = 0; i < versions; ++i) put(row, std::string(40 * 1024, 'v'), 1000 * (i + 1));
  reader.send(wire::request_frame(
      Op::ReadRows, 5, wire::read_rows_body("t", {.ranges = {{row, row + '\0'}}, .credits = 1})));
  bed.world().run_for_us(5'000'000);
  EXPECT_EQ(reader.received.size(), 1u);
  reader.send(wire::credit_frame(5, 60));
  const auto end = reader.answer(5);
  ASSERT_TRUE(end);
  std::vector<std::string> cells;
  for (Answer& chunk : reader.received) {
    for (const std::string& cell : cells_of(chunk)) cells.push_back(cell.substr(0, 20));
  }
  EXPECT_EQ(cells.size(), static_cast<size_t>(versions));
  std::ranges::sort(cells);
  EXPECT_EQ(std::ranges::adjacent_find(cells), cells.end()) << "one was sent twice";
}

TEST_P(StreamWaitTest, ARowThatWasBegunIsNotSentAgainAfterASplit) {
  const std::string row = key(kRows);
  const int versions = 10;
  for (int i = 0; i < versions; ++i) put(row, std::string(40 * 1024, 'v'), 1000 * (i + 1));
  reader.send(wire::request_frame(
      Op::ReadRows, 5,
      wire::read_rows_body("t",
                           {.ranges = {{row, row + '\0'}}, .reversed = reversed(), .credits = 1})));
  bed.world().run_for_us(100'000);
  ASSERT_EQ(reader.received.size(), 1u);
  flatbuffers::FlatBufferBuilder builder;
  const auto at = wire::bytes_vector(builder, key(3));
  fb::SplitTabletRequestBuilder split(builder);
  split.add_tablet_id(bed.shard(0).tables().find("t")->locate(row).id.value());
  split.add_row(at);
  ASSERT_EQ(peer.code_of(Op::SplitTablet, std::string(wire::finish_body(builder, split.Finish()))),
            Errc::ok);
  reader.send(wire::credit_frame(5, 60));
  ASSERT_TRUE(reader.answer(5));
  std::vector<std::string> cells;
  for (Answer& chunk : reader.received) {
    for (const std::string& cell : cells_of(chunk)) cells.push_back(cell.substr(0, 20));
  }
  std::ranges::sort(cells);
  EXPECT_EQ(std::ranges::adjacent_find(cells), cells.end()) << "one was sent twice";
  EXPECT_EQ(cells.size(), static_cast<size_t>(versions));
}

TEST_P(StreamWaitTest, NoWorkIsDoneForAReaderWithoutCredit) {
  begin(5, 2);
  const uint64_t before = slices();
  EXPECT_GT(before, 0u);
  bed.world().run_for_us(10 * kMinuteUs);
  EXPECT_EQ(slices(), before);
  EXPECT_EQ(released(), 1u) << "it kept its cursor";
  EXPECT_EQ(reader.received.size(), 2u);
}

TEST_P(StreamWaitTest, GoesOnExactlyWhereItStoodAfterItsCursorWasLetGo) {
  begin(5, 1);
  while (true) {
    bed.world().run_for_us(2'000'000);  // longer than a cursor is kept
    const size_t before = reader.received.size();
    reader.send(wire::credit_frame(5, 1));
    bed.world().run_for_us(100'000);
    ASSERT_GT(reader.received.size(), before);
    if (reader.received.back().header.kind == FrameKind::end) break;
  }
  EXPECT_GT(released(), 5u);
  EXPECT_EQ(rows(), all_keys());
  EXPECT_EQ(reader.received.back().root<fb::ReadEnd>()->rows(), static_cast<uint64_t>(kRows));
  EXPECT_EQ(scans(), 0u);
}

TEST_P(StreamWaitTest, ALimitHoldsOverALostCursor) {
  reader.send(wire::request_frame(
      Op::ReadRows, 5,
      wire::read_rows_body("t", {.limit = 20, .reversed = reversed(), .credits = 1})));
  for (int i = 0; i < 12; ++i) {
    bed.world().run_for_us(2'000'000);
    reader.send(wire::credit_frame(5, 1));
  }
  const auto end = reader.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->header.kind, FrameKind::end);
  std::vector<std::string> wanted = all_keys();
  wanted.resize(20);
  EXPECT_EQ(rows(), wanted);
}

TEST_P(StreamWaitTest, AWaitingStreamPinsNoFilesForLong) {
  ASSERT_EQ(peer.code_of(Op::FlushTable, wire::flush_body("t")), Errc::ok);
  begin(5, 1);
  bed.world().run_for_us(2'000'000);
  ASSERT_EQ(peer.code_of(Op::CompactTable, wire::compact_body("t")), Errc::ok);
  bed.world().run_for_us(2'000'000);
  uint64_t on_disk = 0;
  for (uint32_t i = 0; i < 2; ++i) on_disk += bed.node().engine(ShardId{i}).stats().tables_on_disk;
  EXPECT_EQ(bed.blobs_on_disk(), on_disk) << "files that nobody names are held";
  reader.send(wire::credit_frame(5, 64));
  ASSERT_TRUE(reader.answer(5));
  EXPECT_EQ(rows(), all_keys());
}

TEST_P(StreamWaitTest, AWaitInsideARowIsEndedAndTheRestCanBeResumed) {
  // 40 cells of 40 KiB: the chunks break inside the row.
  for (int i = 0; i < 40; ++i) {
    CHECK(peer.code_of(Op::MutateRow, wire::set_body("t", key(30), "f", fmt::format("w{:02}", i),
                                                     std::string(40 * 1024, 'w'), 1000)) ==
          Errc::ok);
  }
  begin(5, 24);
  ASSERT_EQ(reader.received.size(), 24u);
  bed.world().run_for_us(30'000'000);
  EXPECT_EQ(scans(), 1u) << "given up too early";
  bed.world().run_for_us(60'000'000);
  EXPECT_EQ(scans(), 0u) << "the row is held for ever";
  const auto end = reader.answer(5);
  ASSERT_TRUE(end);
  Answer last = *end;
  EXPECT_EQ(last.code(), Errc::unavailable);
  EXPECT_NE(last.message().find(key(30)), std::string::npos) << last.message();
}

TEST_P(StreamWaitTest, ADeadlineEndsAWaitingStreamInTime) {
  const std::string body = wire::read_rows_body("t", {.reversed = reversed(), .credits = 1});
  const int64_t began_us = bed.world().now_us();
  reader.send(wire::request_frame(Op::ReadRows, 5, body, FrameKind::request, 500));
  auto end = reader.answer(5);
  ASSERT_TRUE(end);
  EXPECT_EQ(end->code(), Errc::deadline_exceeded);
  EXPECT_LT(bed.world().now_us() - began_us, 510'000);
}

INSTANTIATE_TEST_SUITE_P(ShardsAndDirections, StreamWaitTest,
                         testing::Combine(testing::Values("a", "z"), testing::Bool()));

}  // namespace
}  // namespace cellar::server
