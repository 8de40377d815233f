// Get, Put and handles, against a whole node: answered at once, by another shard, from disk, in
// pieces; and every refusal.
#include <gtest/gtest.h>

#include "net/wire/point_codec.h"
#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

using wire::FrameKind;
using wire::fb::Op;
namespace fb = wire::fb;

using Texts = std::vector<std::string>;

class PointTest : public testing::Test {
 protected:
  PointTest() {
    CHECK(peer.code_of(Op::CreateTable, wire::create_table_body("t", {"f", "g"}, {"m"})) ==
          Errc::ok);
    peer.send(wire::bind_frame(1, {.table = "t"}));
  }
  std::optional<Answer> ask(Op op, std::string_view body, uint32_t handle = 1) {
    peer.send(wire::request_frame(op, ++id, body, FrameKind::request, 0, handle));
    return peer.answer(id);
  }
  static std::string put_body(Bytes row, const std::vector<Mutation>& cells) {
    std::string body;
    wire::append_put(body, {row, cells}, std::nullopt);
    return body;
  }
  static Mutation cell(Bytes family, Bytes qualifier, Bytes value, int64_t timestamp_us) {
    Mutation m;
    m.family = family;
    m.qualifier = qualifier;
    m.value = value;
    m.timestamp_us = timestamp_us;
    return m;
  }
  static std::string get_body(Bytes row, uint32_t versions = 0,
                              std::vector<wire::DecodedGet::Column> columns = {}) {
    wire::DecodedGet get;
    get.row = row;
    get.versions = versions;
    get.columns = std::move(columns);
    std::string body;
    wire::append_get(body, get);
    return body;
  }
  static void append_cells(Bytes body, Texts& out) {
    wire::GotReader reader(body);
    for (wire::GotCell c; reader.next(c);) {
      out.push_back(fmt::format("{}:{}@{}={}", c.family, c.qualifier, c.timestamp_us, c.value));
    }
    EXPECT_TRUE(reader.intact());
  }
  Texts get(Bytes row, uint32_t versions = 0, std::vector<wire::DecodedGet::Column> columns = {}) {
    auto answer = ask(Op::Get, get_body(row, versions, std::move(columns)));
    if (!answer) return {"closed"};
    if (answer->error()) return {fmt::format("!{}", errc_name(answer->code()))};
    Texts cells;
    for (Answer& chunk : peer.received) {
      if (chunk.header.request_id == id) append_cells(chunk.body, cells);
    }
    append_cells(answer->body, cells);
    return cells;
  }
  Errc code(Op op, std::string_view body, uint32_t handle = 1) {
    auto answer = ask(op, body, handle);
    return answer ? answer->code() : Errc::unknown;
  }

  ServerBed bed{2};
  Peer peer{bed};
  uint64_t id = 10;
};

TEST_F(PointTest, CellsOnBothShardsAreReadAsTheyWereWritten) {
  for (const std::string row : {"a", "z"}) {  // on one shard each
    auto put = ask(Op::Put, put_body(row, {cell("f", "q", "one", 1000), cell("f", "q", "two", 2000),
                                           cell("g", "", "empty", 1000)}));
    ASSERT_TRUE(put);
    ASSERT_EQ(put->code(), Errc::ok) << put->message();
    fb::PutReply reply;
    ASSERT_TRUE(wire::parse_put_reply(put->body, reply));
    EXPECT_GT(reply.commit_stamp(), 0u);
    EXPECT_EQ(get(row), (Texts{"f:q@2000=two", "f:q@1000=one", "g:@1000=empty"}));
    EXPECT_EQ(get(row, 1), (Texts{"f:q@2000=two", "g:@1000=empty"}));
    EXPECT_EQ(get(row, 1, {{"g", ""}}), (Texts{"g:@1000=empty"}));
    EXPECT_EQ(get(row, 0, {{"f", "q"}, {"g", ""}, {"f", "q"}}),
              (Texts{"f:q@2000=two", "f:q@1000=one", "g:@1000=empty"}));
    EXPECT_EQ(get(row, 1, {{"f", "other"}}), Texts{});
    // The same through ReadRow.
    auto read = peer.ask(Op::ReadRow, wire::read_row_body("t", row));
    EXPECT_EQ(cells_of(*read).size(), 3u);
  }
  EXPECT_EQ(get("nothing"), Texts{});
  EXPECT_GT(bed.shard(0).counters().handed_over + bed.shard(1).counters().handed_over, 0u);
}

TEST_F(PointTest, TheAnswerTellsTheTimestampThatTheServerGave) {
  for (const std::string row : {"a", "z"}) {
    Mutation stamped = cell("f", "q", "v", kServerStamped);
    auto put = ask(Op::Put, put_body(row, {stamped}));
    fb::PutReply reply;
    ASSERT_TRUE(put && wire::parse_put_reply(put->body, reply));
    EXPECT_EQ(get(row), (Texts{fmt::format("f:q@{}=v", reply.timestamp())}));
    EXPECT_EQ(reply.timestamp() % 1000, 0);
    EXPECT_EQ(reply.timestamp() / 1000, static_cast<int64_t>(reply.commit_stamp() / 1'000'000));
    // A MutateRow tells the same.
    auto wrote = peer.ask(Op::MutateRow, wire::set_body("t", row, "f", "q", "w", 3000));
    const auto* told = wrote->root<fb::MutateRowReply>();
    ASSERT_NE(told, nullptr);
    EXPECT_GT(told->commit_stamp(), reply.commit_stamp());
  }
}

TEST_F(PointTest, AFlushedRowIsReadFromDisk) {
  ASSERT_EQ(code(Op::Put, put_body("a", {cell("f", "q", "v", 1000)})), Errc::ok);
  ASSERT_EQ(peer.code_of(Op::FlushTable, wire::flush_body("t")), Errc::ok);
  EXPECT_EQ(get("a"), Texts{"f:q@1000=v"});
}

TEST_F(PointTest, ALargeRowComesInPieces) {
  const std::string value(50'000, 'v');
  std::vector<Mutation> cells;
  for (int i = 1; i <= 20; ++i) cells.push_back(cell("f", "q", value, i * 1000));
  ASSERT_EQ(code(Op::Put, put_body("a", cells)), Errc::ok);
  const Texts got = get("a");
  ASSERT_EQ(got.size(), 20u);
  EXPECT_EQ(got[19], "f:q@1000=" + value);
  size_t chunks = 0;
  for (const Answer& one : peer.received) chunks += one.header.kind == FrameKind::chunk;
  EXPECT_GT(chunks, 3u);
}

TEST_F(PointTest, ManyInOneWriteAreAnsweredInOneToo) {
  std::string frames;
  for (int i = 0; i < 100; ++i) {
    const std::string row = fmt::format("a{}", i);
    frames +=
        wire::request_frame(Op::Put, 1000 + static_cast<uint64_t>(i),
                            put_body(row, {cell("f", "q", row, 1000)}), FrameKind::request, 0, 1);
  }
  peer.send(frames);
  for (uint64_t i = 0; i < 100; ++i) ASSERT_EQ(peer.answer(1000 + i)->code(), Errc::ok);
  frames.clear();
  for (uint64_t i = 0; i < 100; ++i) {
    frames += wire::request_frame(Op::Get, 2000 + i, get_body(fmt::format("a{}", i)),
                                  FrameKind::request, 0, 1);
  }
  peer.send(frames);
  for (uint64_t i = 0; i < 100; ++i) {
    Texts cells;
    append_cells(peer.answer(2000 + i)->body, cells);
    EXPECT_EQ(cells, (Texts{fmt::format("f:q@1000=a{}", i)}));
  }
}

TEST_F(PointTest, ARequestWithAChecksumIsAnsweredWithOne) {
  ASSERT_EQ(code(Op::Put, put_body("a", {cell("f", "q", "v", 1000)})), Errc::ok);
  for (const bool intact : {true, false}) {
    std::string frame = wire::request_frame(Op::Get, ++id, get_body("a"), FrameKind::request, 0, 1);
    wire::add_checksum(frame, 0);
    if (!intact) frame[frame.size() - 8] ^= 1;
    peer.send(frame);
    auto answer = peer.answer(id);
    ASSERT_EQ(answer.has_value(), intact);
    if (!intact) break;
    EXPECT_NE(answer->header.flags & wire::kFrameChecked, 0);  // and FrameReader has checked it
  }
  EXPECT_TRUE(peer.closes());
}

TEST_F(PointTest, RefusalsNameTheReason) {
  EXPECT_EQ(code(Op::Put, put_body("a", {cell("nope", "q", "v", 1000)})), Errc::not_found);
  EXPECT_EQ(code(Op::Put, put_body("a", {cell("f", "q", "v", 1001)})), Errc::invalid_argument);
  EXPECT_EQ(code(Op::Put, put_body("", {cell("f", "q", "v", 1000)})), Errc::invalid_argument);
  EXPECT_EQ(code(Op::Get, get_body("a"), 0), Errc::invalid_argument) << "no table";
  EXPECT_EQ(code(Op::Get, get_body("a"), 2), Errc::invalid_argument) << "an unbound handle";
  EXPECT_EQ(code(Op::Get, "12345678"), Errc::invalid_argument) << "malformed";
  EXPECT_EQ(get("a"), Texts{});
}

TEST_F(PointTest, AHandleFollowsTheNameOfItsTable) {
  peer.send(wire::bind_frame(2, {.table = "later"}));
  auto absent = ask(Op::Get, get_body("a"), 2);
  EXPECT_EQ(absent->code(), Errc::not_found);
  EXPECT_NE(absent->message().find("'later'"), std::string::npos) << absent->message();
  ASSERT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("later", {"f"})), Errc::ok);
  EXPECT_EQ(code(Op::Put, put_body("a", {cell("f", "q", "old", 1000)}), 2), Errc::ok);
  const std::string drop = wire::table_body("later", fb::CreateDropTableRequest);
  ASSERT_EQ(peer.code_of(Op::DropTable, drop), Errc::ok);
  EXPECT_EQ(code(Op::Get, get_body("a"), 2), Errc::not_found);
  ASSERT_EQ(peer.code_of(Op::CreateTable, wire::create_table_body("later", {"f"})), Errc::ok);
  auto anew = ask(Op::Get, get_body("a"), 2);
  ASSERT_EQ(anew->code(), Errc::ok);
  Texts cells;
  append_cells(anew->body, cells);
  EXPECT_EQ(cells, Texts{}) << "the new table has no rows of the old one";
}

// A number of a table means nothing on another node, nor after a restart.
TEST_F(PointTest, AHandleByIdNeedsTheInstanceOfTheNode) {
  const uint64_t table = bed.node().tables(ShardId{0}).find(Bytes("t"))->schema.id.value();
  peer.send(wire::bind_frame(2, {.table_id = table, .instance = ServerBed::kInstance}));
  EXPECT_EQ(code(Op::Get, get_body("a"), 2), Errc::ok);
  peer.send(wire::bind_frame(2, {.table_id = table, .instance = ServerBed::kInstance + 1}));
  EXPECT_EQ(code(Op::Get, get_body("a"), 2), Errc::failed_precondition);
  peer.send(wire::bind_frame(2, {.table_id = table}));
  EXPECT_EQ(code(Op::Get, get_body("a"), 2), Errc::invalid_argument);
  peer.send(wire::bind_frame(2, {.table = "t", .instance = ServerBed::kInstance + 1}));
  EXPECT_EQ(code(Op::Put, put_body("a", {cell("f", "q", "v", 1000)}), 2),
            Errc::failed_precondition);
  EXPECT_EQ(get("a"), Texts{});
}

TEST_F(PointTest, AHandleOfAnotherTabletOrEpochIsStale) {
  const auto& tablet = bed.node().tables(ShardId{0}).find(Bytes("t"))->locate("a");
  peer.send(wire::bind_frame(2, {.table = "t", .tablet_id = tablet.id.value()}));
  EXPECT_EQ(code(Op::Get, get_body("a"), 2), Errc::ok);
  EXPECT_EQ(code(Op::Get, get_body("z"), 2), Errc::aborted);
  EXPECT_EQ(code(Op::Put, put_body("z", {cell("f", "q", "v", 1000)}), 2), Errc::aborted);
  peer.send(wire::bind_frame(2, {.table = "t", .epoch = tablet.epoch.value() + 1}));
  EXPECT_EQ(code(Op::Get, get_body("a"), 2), Errc::aborted);
}

TEST_F(PointTest, ABindThatIsNoneEndsTheConnection) {
  peer.send(wire::request_frame(Op::None, 0, std::string(16, 'x'), FrameKind::bind, 0, 3));
  EXPECT_TRUE(peer.closes());
}

}  // namespace
}  // namespace cellar::server
