// The answers of a node over a connection: operations, order, refusals.
#include <gtest/gtest.h>

#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace fb = wire::fb;
using fb::Op;
using testing::Test;
using Cells = std::vector<std::string>;

class ServerTest : public Test {
 protected:
  void make_table() {
    ASSERT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f", "g"}, {"m"})),
              Errc::ok);
  }
  Errc set(std::string_view row, std::string_view value, int64_t timestamp_us = 1000) {
    return peer.code_of(Op::MutateRow, wire::set_body("t", row, "f", "q", value, timestamp_us));
  }
  Cells row(std::string_view key) {
    auto answer = peer.ask(Op::ReadRow, wire::read_row_body("t", key));
    return answer ? cells_of(*answer) : Cells{"closed"};
  }

  ServerBed bed;
  Peer peer{bed};
};

TEST_F(ServerTest, WritesAndReadsRowsOfEveryShardOverOneConnection) {
  make_table();
  EXPECT_EQ(set("a", "1"), Errc::ok);
  EXPECT_EQ(set("z", "2"), Errc::ok);
  EXPECT_EQ(row("a"), Cells{"a f:q@1000=1"});
  EXPECT_EQ(row("z"), Cells{"z f:q@1000=2"});
  EXPECT_EQ(row("nothing"), Cells{});
  EXPECT_EQ(read_all(peer, "t"), (Cells{"a f:q@1000=1", "z f:q@1000=2"}));
  EXPECT_EQ(read_all(peer, "t", {.reversed = true}), (Cells{"z f:q@1000=2", "a f:q@1000=1"}));
  EXPECT_EQ(read_all(peer, "t", {.limit = 1}), Cells{"a f:q@1000=1"});
  EXPECT_EQ(read_all(peer, "t", {.ranges = {{"b", ""}}}), Cells{"z f:q@1000=2"});
}

TEST_F(ServerTest, TimeRangeAndNewestVersionsArePassedOn) {
  make_table();
  for (int64_t t = 1; t <= 4; ++t) ASSERT_EQ(set("a", std::to_string(t), t * 1000), Errc::ok);
  const auto newest = wire::filter_node(fb::FilterKind::CellsPerColumnLimit, 2);
  EXPECT_EQ(read_all(peer, "t", {.filter = {newest}}), (Cells{"a f:q@4000=4", "a f:q@3000=3"}));
  const auto range = wire::filter_node(fb::FilterKind::TimestampRange, 2000, 4000, 1 | 4);
  const auto chain = wire::filter_node(fb::FilterKind::Chain, 0, 0, 0, 2);
  const auto one = wire::filter_node(fb::FilterKind::CellsPerColumnLimit, 1);
  EXPECT_EQ(read_all(peer, "t", {.filter = {chain, range, one}}), Cells{"a f:q@3000=3"});
  const auto misaligned = wire::filter_node(fb::FilterKind::TimestampRange, 1500, 0, 1);
  EXPECT_EQ(read_all(peer, "t", {.filter = {misaligned}}), Cells{"!INVALID_ARGUMENT"});
  const auto strip = wire::filter_node(fb::FilterKind::StripValue);
  EXPECT_EQ(read_all(peer, "t", {.filter = {chain, strip, one}}), Cells{"a f:q@4000="});
  // The form is checked before existence: a bad filter on an unknown table is a bad filter.
  const auto none = wire::filter_node(fb::FilterKind::CellsPerColumnLimit, 0);
  EXPECT_EQ(read_all(peer, "u", {.filter = {none}}), Cells{"!INVALID_ARGUMENT"});
  EXPECT_EQ(read_all(peer, "u", {.filter = {strip}}), Cells{"!NOT_FOUND"});
}

TEST_F(ServerTest, WritesToOneRowApplyInTheOrderSent) {
  make_table();
  for (const std::string_view key : {"a", "z"}) {
    std::string frames;
    for (uint64_t i = 0; i < 200; ++i) {
      frames += wire::request_frame(Op::MutateRow, i + 10,
                                    wire::set_body("t", key, "f", "q", std::to_string(i), 1000));
    }
    peer.send(frames);
    for (uint64_t i = 0; i < 200; ++i) {
      auto answer = peer.answer(i + 10);
      ASSERT_TRUE(answer);
      ASSERT_EQ(answer->code(), Errc::ok);
    }
    EXPECT_EQ(row(key), Cells{std::string(key) + " f:q@1000=199"});
  }
}

std::string mutate_rows(const std::vector<std::pair<std::string, std::string>>& entries) {
  flatbuffers::FlatBufferBuilder builder;
  wire::ArenaText arena;
  std::vector<fb::EntryRec> list;
  std::vector<fb::MutationRec> recs;
  for (const auto& [key, family] : entries) {
    list.emplace_back(arena.put(key), fb::Span(0, 0), 0, 1, 0);
    recs.push_back(wire::set_rec(arena, family, "q", key, 1000));
  }
  const auto name = builder.CreateString("t");
  const auto e = builder.CreateVectorOfStructs(list);
  const auto m = builder.CreateVectorOfStructs(recs);
  const auto bytes = wire::bytes_vector(builder, arena.bytes);
  return std::string(
      wire::finish_body(builder, fb::CreateMutateRowsRequest(builder, name, e, m, bytes)));
}

TEST_F(ServerTest, EveryEntryOfABatchHasItsOwnFate) {
  make_table();
  auto answer = peer.ask(
      Op::MutateRows, mutate_rows({{"a", "f"}, {"z", "none"}, {"z", "f"}, {"", "f"}, {"b", "g"}}));
  ASSERT_TRUE(answer);
  const auto* reply = answer->root<fb::MutateRowsReply>();
  ASSERT_NE(reply, nullptr);
  ASSERT_EQ(reply->failures()->size(), 2u);
  EXPECT_EQ(reply->failures()->Get(0)->index(), 1u);
  EXPECT_EQ(reply->failures()->Get(0)->code(), static_cast<uint8_t>(Errc::not_found));
  EXPECT_EQ(reply->failures()->Get(1)->index(), 3u);
  EXPECT_EQ(reply->failures()->Get(1)->code(), static_cast<uint8_t>(Errc::invalid_argument));
  EXPECT_EQ(read_all(peer, "t"), (Cells{"a f:q@1000=a", "b g:q@1000=b", "z f:q@1000=z"}));
}

TEST_F(ServerTest, ADropReachesAllTabletsAndKeepsItsPlaceInTheOrder) {
  make_table();
  ASSERT_EQ(set("x1", "1"), Errc::ok);
  ASSERT_EQ(set("a", "1"), Errc::ok);
  peer.send(wire::request_frame(Op::DropRowRange, 5, wire::drop_rows_body("t", "x")) +
            wire::request_frame(Op::MutateRow, 6, wire::set_body("t", "x2", "f", "q", "2", 1000)));
  ASSERT_TRUE(peer.answer(5));
  ASSERT_TRUE(peer.answer(6));
  EXPECT_EQ(read_all(peer, "t"), (Cells{"a f:q@1000=1", "x2 f:q@1000=2"}));
  EXPECT_EQ(peer.code_of(Op::DropRowRange, wire::drop_rows_body("t", "")), Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::DropRowRange, wire::drop_rows_body("none", "x")), Errc::not_found);
}

TEST_F(ServerTest, TablesAreMadeListedDescribedAndDropped) {
  make_table();
  EXPECT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"})),
            Errc::already_exists);
  EXPECT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("a b", {"f"})),
            Errc::invalid_argument);
  auto list = peer.ask(Op::ListTables, "");
  ASSERT_TRUE(list);
  const auto* tables = list->root<fb::ListTablesReply>();
  ASSERT_EQ(tables->tables()->size(), 1u);
  EXPECT_EQ(tables->tables()->Get(0)->tablets(), 2u);

  flatbuffers::FlatBufferBuilder builder;
  const auto describe = [&](auto create) {
    builder.Clear();
    const auto name = builder.CreateString("t");
    return std::string(wire::finish_body(builder, create(builder, name)));
  };
  auto answer = peer.ask(Op::DescribeTable, describe(fb::CreateDescribeTableRequest));
  ASSERT_TRUE(answer);
  const auto* table = answer->root<fb::TableDescription>();
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->families()->size(), 2u);
  EXPECT_EQ(table->tablets()->size(), 2u);
  EXPECT_EQ(peer.code_of(Op::FlushTable, describe(fb::CreateFlushTableRequest)), Errc::ok);
  EXPECT_EQ(peer.code_of(Op::CompactTable, describe(fb::CreateCompactTableRequest)), Errc::ok);
  EXPECT_EQ(peer.code_of(Op::DropTable, describe(fb::CreateDropTableRequest)), Errc::ok);
  EXPECT_EQ(peer.code_of(Op::DropTable, describe(fb::CreateDropTableRequest)), Errc::not_found);
  EXPECT_EQ(set("a", "1"), Errc::not_found);
  EXPECT_EQ(read_all(peer, "t"), Cells{"!NOT_FOUND"});
}

TEST_F(ServerTest, ServerInfoCountsEveryShard) {
  make_table();
  ASSERT_EQ(set("a", "1"), Errc::ok);
  auto answer = peer.ask(Op::ServerInfo, "");
  ASSERT_TRUE(answer);
  const auto* info = answer->root<fb::ServerInfoReply>();
  ASSERT_NE(info, nullptr);
  EXPECT_EQ(info->shards(), 2u);
  ASSERT_EQ(info->stats()->size(), 2u);
  EXPECT_EQ(info->stats()->Get(0)->connections() + info->stats()->Get(1)->connections(), 1u);
  EXPECT_EQ(info->stats()->Get(0)->commits() + info->stats()->Get(1)->commits(), 1u);
}

TEST_F(ServerTest, BadInputChangesNothingAndSaysWhy) {
  make_table();
  EXPECT_EQ(set("", "1"), Errc::invalid_argument);
  EXPECT_EQ(set(std::string(4097, 'k'), "1"), Errc::invalid_argument);
  EXPECT_EQ(set("a", "1", 1001), Errc::invalid_argument);
  EXPECT_EQ(set("a", "1", -1000), Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::MutateRow, wire::set_body("none", "a", "f", "q", "v", 1000)),
            Errc::not_found);
  EXPECT_EQ(peer.code_of(Op::MutateRow, wire::set_body("none", "", "f", "q", "v", 1000)),
            Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(Op::MutateRow, wire::set_body("t", "a", "none", "q", "v", 1000)),
            Errc::not_found);
  EXPECT_EQ(peer.code_of(Op::MutateRow, wire::mutate_row_body("t", "a", {}, {})),
            Errc::invalid_argument);
  EXPECT_EQ(peer.code_of(static_cast<Op>(200), ""), Errc::unimplemented);
  EXPECT_EQ(peer.code_of(static_cast<Op>(255), std::string(8, '\0')), Errc::unimplemented);
  EXPECT_EQ(read_all(peer, "t"), Cells{});
}

TEST_F(ServerTest, AStaleTabletOrEpochIsToldWhereTheRowLives) {
  make_table();
  const std::string body = wire::set_body("t", "z", "f", "q", "v", 1000);
  peer.send(wire::bind_frame(1, {.table = "t", .epoch = 999}) +
            wire::request_frame(Op::MutateRow, 77, body, wire::FrameKind::request, 0, 1));
  auto answer = peer.answer(77);
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->code(), Errc::aborted);
  EXPECT_NE(answer->root<fb::Status>()->tablet_id(), 0u);
}

TEST(ServerStop, AnswersWhatIsInFlightAndSaysGoaway) {
  ServerBed bed;
  Peer peer(bed);
  ASSERT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f"}, {"m"})), Errc::ok);
  std::string frames;
  for (uint64_t i = 0; i < 50; ++i) {
    frames += wire::request_frame(Op::MutateRow, i + 10,
                                  wire::set_body("t", i % 2 ? "a" : "z", "f", "q", "v", 1000));
  }
  peer.send(frames);
  bed.world().run_for_us(120);
  bed.stop();
  EXPECT_TRUE(peer.closes());
  size_t answered = 0;
  size_t goaways = 0;
  for (Answer& answer : peer.received) {
    if (answer.header.kind == wire::FrameKind::goaway) ++goaways;
    if (answer.header.kind != wire::FrameKind::reply) continue;
    ++answered;
    EXPECT_TRUE(answer.code() == Errc::ok || answer.code() == Errc::unavailable);
  }
  EXPECT_EQ(goaways, 1u);
  EXPECT_EQ(answered, 50u);
}

}  // namespace
}  // namespace cellar::server
