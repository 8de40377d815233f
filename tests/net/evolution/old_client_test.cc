// A client of the first release against the current node. It is built from the released schema,
// compiled separately, and from the released bytes of the header, without net/wire.
#include <flatbuffers/flatbuffers.h>
#include <gtest/gtest.h>

#include "released1/admin_generated.h"
#include "released1/data_generated.h"
#include "tests/net/server/server_bed.h"

namespace cellar::server {
namespace {

namespace old = cellar::released1::fb;
using Builder = flatbuffers::FlatBufferBuilder;

struct OldHeader {
  uint32_t body_bytes = 0;
  uint8_t kind = 1;
  uint8_t op = 0;
  uint16_t flags = 0;
  uint32_t request_id = 0;
  uint32_t handle = 0;
  uint32_t deadline_ms = 0;
  uint32_t checksum = 0;
};
static_assert(sizeof(OldHeader) == 24);

std::string old_frame(old::Op op, uint64_t id, const std::string& body, uint8_t kind = 1) {
  OldHeader header;
  header.body_bytes = static_cast<uint32_t>(body.size());
  header.kind = kind;
  header.op = static_cast<uint8_t>(op);
  header.request_id = static_cast<uint32_t>(id);
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + body;
}

template <class Root>
std::string finish(Builder& b, flatbuffers::Offset<Root> root, const char* id) {
  b.ForceVectorAlignment(1, 1, 8);
  b.Finish(root, id);
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

auto bytes_of(Builder& b, std::string_view s) {
  return b.CreateVector(reinterpret_cast<const uint8_t*>(s.data()), s.size());
}

class OldClient : public testing::Test {
 protected:
  OldClient() {
    std::string preface(8, '\0');
    preface += std::string("CELLAR\x02\x00", 8);
    peer.send(preface + old_frame(old::Op::Hello, 1, ""));
  }

  Answer ask(old::Op op, std::string body) {
    const uint64_t id = ++last_id_;
    peer.send(old_frame(op, id, body));
    auto answer = peer.answer(id);
    CHECK(answer.has_value(), "the node closed the connection of an old client");
    return *std::move(answer);
  }
  // The body according to the old schema; null if it does not verify.
  template <class Root>
  const Root* read(Answer& answer, const char* id) {
    answer.aligned.assign(answer.body.size() / 8 + 1, 0);
    std::memcpy(answer.aligned.data(), answer.body.data(), answer.body.size());
    const auto* data = reinterpret_cast<const uint8_t*>(answer.aligned.data());
    flatbuffers::Verifier verifier(data, answer.body.size());
    if (!verifier.VerifyBuffer<Root>(id)) return nullptr;
    return flatbuffers::GetRoot<Root>(data);
  }
  int code(Answer& answer) {
    if ((answer.header.flags & 1) == 0) return 0;
    const auto* status = read<old::Status>(answer, "RSTA");
    return status == nullptr ? -1 : status->code();
  }

  std::string create_body(old::Profile profile = old::Profile::None) {
    Builder b;
    const auto name = b.CreateString("t");
    const std::vector families = {old::CreateFamilySpec(b, b.CreateString("f"))};
    const auto list = b.CreateVector(families);
    const std::vector<old::Span> splits = {old::Span(0, 1)};
    const auto splits_at = b.CreateVectorOfStructs(splits);
    const auto arena = bytes_of(b, "m");
    return finish(b,
                  old::CreateCreateTableRequest(b, name, flatbuffers::nullopt, profile, list, 0,
                                                splits_at, arena),
                  "QCRT");
  }
  static old::MutationRec set(uint32_t row_size, uint32_t value_size, uint8_t kind = 1,
                              uint16_t reserved = 0) {
    return {1000,
            0,
            old::Span(row_size, 1),
            old::Span(row_size + 1, 1),
            old::Span(row_size + 2, value_size),
            kind,
            1,
            reserved,
            0};
  }
  std::string write_body(const std::string& row, const std::string& value, uint8_t kind = 1,
                         old::Durability durability = old::Durability::TableDefault,
                         uint16_t reserved = 0) {
    Builder b;
    const auto name = b.CreateString("t");
    const std::vector recs = {set(static_cast<uint32_t>(row.size()),
                                  static_cast<uint32_t>(value.size()), kind, reserved)};
    const auto list = b.CreateVectorOfStructs(recs);
    const auto arena = bytes_of(b, row + "fq" + value);
    const old::Span key(0, static_cast<uint32_t>(row.size()));
    return finish(b, old::CreateMutateRowRequest(b, name, &key, list, arena, durability), "QMUR");
  }
  std::string scan_body(uint32_t credits, uint8_t filter_kind = 1) {
    Builder b;
    const auto name = b.CreateString("t");
    const old::Span none(0, 0);
    const std::vector nodes = {old::FilterNode(0, 0, 0, none, none, none, 0, filter_kind, 0, 0)};
    const auto filter = b.CreateVectorOfStructs(nodes);
    const auto arena = bytes_of(b, "");
    return finish(
        b,
        old::CreateReadRowsRequest(b, name, 0, 0, filter, arena, 0, false, false, false, credits),
        "QRRS");
  }

  ServerBed bed;
  Peer peer{bed, false};
  uint64_t last_id_ = 100;
};

TEST_F(OldClient, HoldsAWholeConversation) {
  auto hello = peer.answer(1);
  ASSERT_TRUE(hello);
  const auto* greeting = read<old::HelloReply>(*hello, "RHEL");
  ASSERT_NE(greeting, nullptr);
  EXPECT_EQ(greeting->version(), 2);
  ASSERT_NE(greeting->limits(), nullptr);
  EXPECT_GE(greeting->limits()->frame_bytes(), 33u << 20);

  Answer created = ask(old::Op::CreateTable, create_body());
  ASSERT_EQ(code(created), 0);
  const auto* table = read<old::TableDescription>(created, "RDSC");
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(table->name()->str(), "t");
  ASSERT_EQ(table->families()->size(), 1u);
  EXPECT_EQ(table->tablets()->size(), 2u);
  Answer again = ask(old::Op::CreateTable, create_body());
  EXPECT_EQ(code(again), 6) << "ALREADY_EXISTS";

  for (const char* row : {"a1", "a2", "z1"}) {
    Answer wrote = ask(old::Op::MutateRow, write_body(row, std::string(100'000, row[1])));
    EXPECT_EQ(code(wrote), 0);
    const auto* stamped = read<old::MutateRowReply>(wrote, "RMUR");
    ASSERT_NE(stamped, nullptr);
    EXPECT_GT(stamped->commit_stamp(), 0u);
  }

  // Read one row.
  Builder b;
  const auto name = b.CreateString("t");
  const auto arena = bytes_of(b, "a2");
  const old::Span key(0, 2);
  Answer row =
      ask(old::Op::ReadRow, finish(b, old::CreateReadRowRequest(b, name, &key, 0, arena), "QRDR"));
  const auto* chunk = read<old::ReadChunk>(row, "RCHK");
  ASSERT_NE(chunk, nullptr);
  ASSERT_EQ(chunk->cells()->size(), 1u);
  EXPECT_EQ(chunk->cells()->Get(0)->value_size(), 100'000u);
  EXPECT_EQ(chunk->rows()->Get(0)->flags(), 2);

  // A scan, one chunk at a time.
  peer.received.clear();
  peer.send(old_frame(old::Op::ReadRows, 7, scan_body(1)));
  Builder c;
  const std::string credit = finish(c, old::CreateCredit(c, 1), "QCRD");
  for (int i = 0; i < 4; ++i) {
    bed.world().run_for_us(100'000);
    peer.send(old_frame(old::Op::ReadRows, 7, credit, 6));
  }
  auto end = peer.answer(7);
  ASSERT_TRUE(end);
  EXPECT_EQ(static_cast<int>(end->header.kind), 4);
  const auto* totals = read<old::ReadEnd>(*end, "REND");
  ASSERT_NE(totals, nullptr);
  EXPECT_EQ(totals->rows(), 3u);
  size_t cells = 0;
  for (Answer& part : peer.received) {
    const auto* body = read<old::ReadChunk>(part, "RCHK");
    ASSERT_NE(body, nullptr);
    cells += body->cells()->size();
  }
  EXPECT_EQ(cells, 3u);
}

TEST_F(OldClient, UnderstandsEveryRefusal) {
  ASSERT_TRUE(peer.answer(1));
  Answer unknown = ask(old::Op::MutateRow, write_body("row", "v"));
  EXPECT_EQ(code(unknown), 5) << "NOT_FOUND";
  const auto* status = read<old::Status>(unknown, "RSTA");
  ASSERT_NE(status, nullptr);
  EXPECT_EQ(status->applied(), old::Applied::NotApplied);
  EXPECT_NE(status->message()->str().find("'t'"), std::string::npos);
  Answer garbage = ask(old::Op::MutateRow, std::string(64, 'x'));
  EXPECT_EQ(code(garbage), 3) << "INVALID_ARGUMENT";
}

// A newer client and an older node: unknown numbers are refused with an error, never misread.
TEST_F(OldClient, NumbersFromTheFutureAreRefusedNotMisread) {
  ASSERT_TRUE(peer.answer(1));
  Answer profile = ask(old::Op::CreateTable, create_body(static_cast<old::Profile>(77)));
  EXPECT_EQ(code(profile), 3);
  Answer created = ask(old::Op::CreateTable, create_body());
  ASSERT_EQ(code(created), 0);
  Answer op = ask(static_cast<old::Op>(200), "");
  EXPECT_EQ(code(op), 12) << "UNIMPLEMENTED";
  Answer kind = ask(old::Op::MutateRow, write_body("row", "v", 77));
  EXPECT_EQ(code(kind), 3);
  Answer level =
      ask(old::Op::MutateRow, write_body("row", "v", 1, static_cast<old::Durability>(77)));
  EXPECT_EQ(code(level), 3);
  Answer reserved = ask(old::Op::MutateRow, write_body("row", "v", 1, {}, 5));
  EXPECT_EQ(code(reserved), 3);
  Answer filter = ask(old::Op::ReadRows, scan_body(8, 77));
  EXPECT_EQ(code(filter), 3);
  Answer nothing = ask(old::Op::ReadRows, scan_body(8));
  EXPECT_EQ(code(nothing), 0);
  EXPECT_EQ(read<old::ReadEnd>(nothing, "REND")->rows(), 0u) << "a refused write left something";
}

TEST_F(OldClient, AFieldThatTheNodeDoesNotKnowIsPassedOver) {
  ASSERT_TRUE(peer.answer(1));
  Answer created = ask(old::Op::CreateTable, create_body());
  ASSERT_EQ(code(created), 0);
  // A PingRequest with a field of id 40, which no schema has.
  constexpr flatbuffers::voffset_t kFarField = 4 + 2 * 40;
  Builder b;
  const auto echo = bytes_of(b, "hello");
  const auto start = b.StartTable();
  b.AddElement<uint64_t>(kFarField, 12345, 0);
  b.AddOffset(old::PingRequest::VT_ECHO, echo);
  const flatbuffers::Offset<old::PingRequest> root(b.EndTable(start));
  Answer pong = ask(old::Op::Ping, finish(b, root, "QPNG"));
  ASSERT_EQ(code(pong), 0);
  const auto* reply = read<old::PingReply>(pong, "RPNG");
  ASSERT_NE(reply, nullptr);
  EXPECT_EQ(reply->echo()->size(), 5u);
}

}  // namespace
}  // namespace cellar::server
