// The data beside the cells of a chunk: from the node's builder to the client's cells, and
// malformed bodies.
#include <gtest/gtest.h>

#include "io/base/random.h"
#include "net/client/api/cells.h"
#include "net/wire/chunk_builder.h"
#include "tests/net/wire/aligned_body.h"

namespace cellar::client {
namespace {

namespace fb = wire::fb;

CellNote note(int64_t expire_at_us, int64_t dies_at_us, DeathCause cause, bool dead,
              uint16_t clause) {
  return {expire_at_us, dies_at_us, cause, dead, clause};
}

std::string chunk_of(bool expiry, bool explanation) {
  wire::ChunkBuilder builder;
  builder.tell(expiry, explanation);
  const CellNote notes[] = {note(kNoExpiry, INT64_MAX, DeathCause::none, false, kNoClause),
                            note(9000, 9001, DeathCause::expiry, false, kNoClause),
                            note(kNoExpiry, 77, DeathCause::hidden, true, 3)};
  for (int i = 0; i < 3; ++i) {
    CellView cell{"row", "f", "q", 3000 - i, "v"};
    cell.note = &notes[i];
    builder.cell(cell);
  }
  builder.end_row("row");
  if (explanation) builder.set_runs(8, 1);
  return wire::joined(builder.finish());
}

TEST(CellNotes, ComeBackAsTheyWereTold) {
  const auto block = CellBlock::decode(chunk_of(true, true));
  ASSERT_TRUE(block) << block.error().to_string();
  EXPECT_TRUE(block->tells_expiry());
  const auto cells = block->cells();
  ASSERT_EQ(cells.size(), 3u);
  EXPECT_EQ(cells[0].expire_at_us, kNoExpiry);
  EXPECT_EQ(cells[1].expire_at_us, 9000);
  ASSERT_NE(cells[2].explained, nullptr);
  EXPECT_EQ(cells[0].explained->dies_at_us, INT64_MAX);
  EXPECT_EQ(cells[0].explained->clause, kNoClause);
  EXPECT_EQ(cells[1].explained->cause, DeathCause::expiry);
  EXPECT_FALSE(cells[1].explained->dead);
  EXPECT_EQ(cells[2].explained->cause, DeathCause::hidden);
  EXPECT_TRUE(cells[2].explained->dead);
  EXPECT_EQ(cells[2].explained->clause, 3);
  EXPECT_EQ(block->runs().all, 8u);
  EXPECT_EQ(block->runs().opened, 1u);
}

TEST(CellNotes, OnlyWhatIsAskedForIsSent) {
  const auto plain = CellBlock::decode(chunk_of(false, false));
  ASSERT_TRUE(plain);
  EXPECT_FALSE(plain->tells_expiry());
  EXPECT_EQ(plain->cells()[1].expire_at_us, kNoExpiry);
  EXPECT_EQ(plain->cells()[1].explained, nullptr);
  EXPECT_EQ(plain->runs().all, 0u);
  EXPECT_EQ(CellBlock::decode(chunk_of(true, false))->cells()[1].explained, nullptr);
  EXPECT_EQ(CellBlock::decode(chunk_of(false, true))->cells()[1].expire_at_us, kNoExpiry);
}

TEST(CellNotes, LiveAsLongAsTheRowThatIsSplitOff) {
  auto block = CellBlock::decode(chunk_of(true, true));
  ASSERT_TRUE(block);
  const CellBlock last = block->split_last();
  *block = CellBlock();
  EXPECT_TRUE(last.tells_expiry());
  EXPECT_EQ(last.cells()[1].expire_at_us, 9000);
  EXPECT_EQ(last.cells()[2].explained->dies_at_us, 77);
}

// More or fewer expiries and explanations than cells.
std::string lying_chunk(size_t expiries, size_t explanations) {
  flatbuffers::FlatBufferBuilder builder;
  const uint8_t bytes[] = {'r', 'f', 'q'};
  const auto arena = builder.CreateVector(bytes, sizeof bytes);
  const std::vector<fb::CellRec> cells(2, fb::CellRec(1, 1, 2, 0, 0, 1, 1, 0, 0, 0));
  const auto cell_vector = builder.CreateVectorOfStructs(cells);
  const std::vector<fb::RowRec> rows = {fb::RowRec(fb::Span(0, 1), 2, 2, 0)};
  const auto row_vector = builder.CreateVectorOfStructs(rows);
  const auto expiry = builder.CreateVector(std::vector<int64_t>(expiries, 5));
  const auto explain = builder.CreateVectorOfStructs(
      std::vector<fb::ExplainRec>(explanations, fb::ExplainRec(5, 1, false, 0, 0)));
  fb::ReadChunkBuilder chunk(builder);
  chunk.add_rows(row_vector);
  chunk.add_cells(cell_vector);
  chunk.add_arena(arena);
  chunk.add_expiry(expiry);
  chunk.add_explain(explain);
  return std::string(wire::finish_body(builder, chunk.Finish()));
}

TEST(CellNotes, OneTooManyOrTooFewIsRefused) {
  EXPECT_TRUE(CellBlock::decode(lying_chunk(2, 2)));
  for (const size_t n : {0u, 1u, 3u}) {
    EXPECT_EQ(CellBlock::decode(lying_chunk(n, 2)).error().code, Errc::internal) << n;
    EXPECT_EQ(CellBlock::decode(lying_chunk(2, n)).error().code, Errc::internal) << n;
  }
}

TEST(CellNotes, BentBytesNeverReadOutside) {
  const std::string body = chunk_of(true, true);
  Random random(11);
  for (int i = 0; i < 20'000; ++i) {
    std::string bent = body;
    for (uint64_t k = 0; k <= random.below(3); ++k)
      bent[random.below(bent.size())] = static_cast<char>(random.next());
    const auto block = CellBlock::decode(bent);
    if (!block) continue;
    for (const Cell& cell : block->cells()) {
      (void)(cell.explained != nullptr && cell.explained->dead);
      (void)std::string(cell.value);
    }
  }
}

}  // namespace
}  // namespace cellar::client
