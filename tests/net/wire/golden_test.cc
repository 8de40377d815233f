// The worked exchange of schema/PROTOCOL.md, compared byte for byte.
#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "net/wire/chunk_builder.h"
#include "net/wire/frame.h"
#include "net/wire/point_codec.h"
#include "tests/net/wire/aligned_body.h"
#include "tests/net/wire/wire_bodies.h"

namespace cellar::wire {
namespace {

std::string read_protocol() {
  std::ifstream file(std::string(CELLAR_SOURCE_DIR) + "/schema/PROTOCOL.md");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Bytes in the form of the document: 16 a line, offset first.
std::string hex_lines(Bytes bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 16) {
    out += fmt::format("    {:04x} ", at);
    for (const char c : bytes.substr(at, 16)) {
      out += fmt::format(" {:02x}", static_cast<uint8_t>(c));
    }
    out += '\n';
  }
  return out;
}

std::string answer_frame(fb::Op op, uint64_t id, Bytes body) {
  return request_frame(op, id, body, FrameKind::reply);
}

struct Exchange {
  std::string opening;
  std::string bind;
  std::string put;
  std::string put_answer;
  std::string get;
  std::string get_answer;
  std::string write;
  std::string write_answer;
  std::string read;
  std::string read_answer;
  std::string explained;
};

Exchange make_exchange() {
  Exchange e;
  append_preface(e.opening, {.routing_hint = 0x0807060504030201});
  e.opening += request_frame(fb::Op::Hello, 1, "");
  e.bind = bind_frame(1, {.table = "t"});
  Mutation cell_of_put;
  cell_of_put.family = "f";
  cell_of_put.qualifier = "q";
  cell_of_put.value = "hello";
  cell_of_put.timestamp_us = 5000;
  std::string body;
  append_put(body, {"row", {&cell_of_put, 1}}, std::nullopt);
  e.put = request_frame(fb::Op::Put, 4, body, FrameKind::request, 0, 1);
  const fb::PutReply committed(1'795'000'000'123'456'789, 1'795'000'000'123'000);
  e.put_answer = answer_frame(fb::Op::Put, 4, put_reply(committed));
  DecodedGet asked;
  asked.row = "row";
  asked.versions = 1;
  body.clear();
  append_get(body, asked);
  e.get = request_frame(fb::Op::Get, 5, body, FrameKind::request, 0, 1);
  body.clear();
  GotBuilder got(body, SIZE_MAX);
  got.cell({"row", "f", "q", 5000, "hello"});
  got.finish();
  e.get_answer = answer_frame(fb::Op::Get, 5, body);
  e.write = request_frame(fb::Op::MutateRow, 2, set_body("t", "row", "f", "q", "hello", 5000));
  e.write_answer = answer_frame(fb::Op::MutateRow, 2, "");
  e.read = request_frame(fb::Op::ReadRow, 3, read_row_body("t", "row"));
  ChunkBuilder chunk;
  chunk.cell({"row", "f", "q", 5000, "hello"});
  chunk.end_row("row");
  e.read_answer = answer_frame(fb::Op::ReadRow, 3, joined(chunk.finish()));
  const CellNote note{9000, 9001, DeathCause::expiry, false, kNoClause};
  chunk.tell(true, true);
  CellView cell{"row", "f", "q", 5000, "hello"};
  cell.note = &note;
  chunk.cell(cell);
  chunk.end_row("row");
  e.explained = joined(chunk.finish());
  return e;
}

TEST(Protocol, TheWorkedExchangeIsWhatThisCodeSends) {
  const std::string document = read_protocol();
  const Exchange e = make_exchange();
  for (const std::string& bytes : {e.opening, e.bind, e.put, e.put_answer, e.get, e.get_answer,
                                   e.write, e.write_answer, e.read, e.read_answer, e.explained}) {
    EXPECT_NE(document.find(hex_lines(bytes)), std::string::npos) << "not in PROTOCOL.md:\n"
                                                                  << hex_lines(bytes);
  }
}

TEST(Protocol, EveryBodyIdentifierIsInTheDocument) {
  const std::string document = read_protocol();
  for (const char* id :
       {kBodyId<fb::HelloRequest>, kBodyId<fb::MutateRowRequest>, kBodyId<fb::ReadRowsRequest>,
        kBodyId<fb::CreateTableRequest>, kBodyId<fb::Credit>, kBodyId<fb::Status>,
        kBodyId<fb::ReadChunk>, kBodyId<fb::PreviewProgress>, kBodyId<fb::ReadEnd>,
        kBodyId<fb::TableDescription>}) {
    EXPECT_NE(document.find(id), std::string::npos) << id;
  }
}

TEST(Protocol, OperationNumbersAreFrozen) {
  EXPECT_EQ(static_cast<int>(fb::Op::Hello), 1);
  EXPECT_EQ(static_cast<int>(fb::Op::MutateRow), 16);
  EXPECT_EQ(static_cast<int>(fb::Op::SampleRowKeys), 23);
  EXPECT_EQ(static_cast<int>(fb::Op::CreateTable), 32);
  EXPECT_EQ(static_cast<int>(fb::Op::CompactTable), 40);
  EXPECT_EQ(sizeof(fb::MutationRec), 48u);
  EXPECT_EQ(sizeof(fb::CellRec), 32u);
  EXPECT_EQ(sizeof(fb::RowRec), 16u);
  EXPECT_EQ(sizeof(fb::ExplainRec), 16u);
  EXPECT_EQ(sizeof(fb::FilterNode), 56u);
  EXPECT_EQ(sizeof(fb::RuleNode), 16u);
}

}  // namespace
}  // namespace cellar::wire
