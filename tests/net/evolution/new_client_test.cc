// The current client against a node of the first release (answers built with the released schema),
// and against a node of a later release (fields and numbers unknown to this client).
#include "released1/admin_generated.h"
#include "released1/data_generated.h"
#include "tests/net/client/client_bed.h"

namespace cellar::client {
namespace {

namespace old = cellar::released1::fb;
using Builder = flatbuffers::FlatBufferBuilder;
using wire::FrameKind;

template <class Root>
std::string finish_new(Builder& b, flatbuffers::Offset<Root> root, const char* id) {
  b.ForceVectorAlignment(1, 1, 8);
  b.Finish(root, id);
  return {reinterpret_cast<const char*>(b.GetBufferPointer()), b.GetSize()};
}

std::string old_status(uint8_t code, const std::string& message, uint32_t retry_after_ms,
                       old::Applied applied = old::Applied::NotApplied) {
  Builder b;
  const auto text = b.CreateString(message);
  return finish_new(b, old::CreateStatus(b, code, applied, retry_after_ms, text), "RSTA");
}

std::string old_chunk(const std::string& row, const std::string& value) {
  Builder b;
  const std::string arena = row + "fq" + value;
  const auto n = static_cast<uint32_t>(row.size());
  const std::vector rows = {old::RowRec(old::Span(0, n), 1, 2, 0)};
  const std::vector cells = {
      old::CellRec(7000, n, n + 1, n + 2, static_cast<uint32_t>(value.size()), 1, 1, 0, 0, 0)};
  const auto row_list = b.CreateVectorOfStructs(rows);
  const auto cell_list = b.CreateVectorOfStructs(cells);
  const auto bytes = b.CreateVector(reinterpret_cast<const uint8_t*>(arena.data()), arena.size());
  return finish_new(b, old::CreateReadChunk(b, row_list, cell_list, bytes), "RCHK");
}

class NewClient : public ClientBed {
 protected:
  // Answers every request with this body.
  void answer(std::string body, uint16_t flags = 0) {
    server_.script = [body = std::move(body), flags](const Received& received) {
      return frame(FrameKind::reply, received.header, body, flags);
    };
  }
  Result<MutateReply> wrote() {
    CallOptions options;
    options.deadline_us = 1'000'000;
    options.draw_tokens = true;  // so that it is a MutateRow, whose answer is a table
    auto outcome = write("row", options);
    settle();
    CHECK(outcome->has_value(), "the write has no outcome");
    return **outcome;
  }
};

TEST_F(NewClient, ReadsARowFromAnOldNode) {
  answer(old_chunk("row", "value"));
  client();
  const auto call = [&]() -> Async<Result<std::optional<Row>>> {
    ReadRow read;
    read.row = "row";
    co_return co_await client_->async_read_row("t", read, {}, use_awaitable);
  };
  const auto row = world_.block_on(loop_, call());
  ASSERT_TRUE(row) << row.error().message;
  ASSERT_TRUE(row->has_value());
  size_t cells = 0;
  for (const Cell& cell : (*row)->cells()) {
    ++cells;
    EXPECT_EQ(cell.value, "value");
    EXPECT_EQ(cell.timestamp_us, 7000);
  }
  EXPECT_EQ(cells, 1u);
}

TEST_F(NewClient, DescribesATableOfAnOldNode) {
  Builder b;
  const auto name = b.CreateString("t");
  const std::vector families = {old::CreateFamilySpec(b, b.CreateString("f"))};
  const auto list = b.CreateVector(families);
  const std::vector tablets = {old::TabletRec(4, 2, old::Span(0, 0), old::Span(0, 0), 1, 0)};
  const auto tablet_list = b.CreateVectorOfStructs(tablets);
  answer(finish_new(b,
                    old::CreateTableDescription(b, name, 9, 3, old::Granularity::Micros,
                                                old::Profile::None, list, 0, tablet_list),
                    "RDSC"));
  client();
  const auto call = [&]() -> Async<Result<TableDescription>> {
    co_return co_await client_->async_describe_table("t", use_awaitable);
  };
  const auto table = world_.block_on(loop_, call());
  ASSERT_TRUE(table) << table.error().message;
  EXPECT_EQ(table->table_id, 9u);
  EXPECT_EQ(table->granularity, Granularity::micros);
  ASSERT_EQ(table->tablets.size(), 1u);
  EXPECT_EQ(table->tablets[0].shard, 1u);
}

TEST_F(NewClient, UnderstandsTheRefusalsOfAnOldNode) {
  answer(old_status(11, "the timestamp is too old", 4294967295), wire::kFrameError);
  client();
  const auto done = wrote();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::out_of_range);
  EXPECT_EQ(done.error().applied, Applied::not_applied);
  EXPECT_EQ(done.error().message, "the timestamp is too old");
}

TEST_F(NewClient, AStatusFromTheFutureIsUnknownAndMaybeApplied) {
  answer(old_status(99, "a new kind of trouble", 4294967295, static_cast<old::Applied>(9)),
         wire::kFrameError);
  client();
  const auto done = wrote();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().code, Errc::unknown);
  EXPECT_EQ(done.error().applied, Applied::maybe_applied);
}

TEST_F(NewClient, AFieldFromTheFutureIsPassedOver) {
  constexpr flatbuffers::voffset_t kFarField = 4 + 2 * 40;
  Builder b;
  const auto start = b.StartTable();
  b.AddElement<uint64_t>(kFarField, 12345, 0);
  b.AddElement<uint8_t>(old::MutateRowReply::VT_REPEATED, 1, 0);
  const flatbuffers::Offset<old::MutateRowReply> root(b.EndTable(start));
  answer(finish_new(b, root, "RMUR"));
  client();
  const auto done = wrote();
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->repeated);
}

TEST_F(NewClient, AFrameKindFromTheFutureEndsTheConnectionAndTellsMaybeApplied) {
  server_.script = [](const Received& received) {
    return frame(static_cast<FrameKind>(9), received.header, {});
  };
  client();
  const auto done = wrote();
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().applied, Applied::maybe_applied);
}

}  // namespace
}  // namespace cellar::client
