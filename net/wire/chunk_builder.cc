#include "net/wire/chunk_builder.h"

#include "io/base/check.h"

namespace cellar::wire {

uint32_t ChunkBuilder::put(Bytes b) {
  const auto at = static_cast<uint32_t>(arena_.size());
  arena_.append(b);
  bytes_ += b.size();
  return at;
}

void ChunkBuilder::begin_row(Bytes row) {
  row_at_ = put(row);
  row_size_ = static_cast<uint32_t>(row.size());
  row_cells_ = 0;
  row_begun_ = true;
  if (!in_row_) {
    in_row_ = true;
    continued_ = false;
    row_bytes_ = 0;
  }
  bytes_ += sizeof(fb::RowRec);
}

CellSink::Flow ChunkBuilder::cell(const CellView& cell) {
  if (!row_begun_) begin_row(cell.row);
  const bool same_family =
      !cells_.empty() && Bytes(arena_.data() + family_at_, family_size_) == cell.family;
  if (!same_family) {
    family_at_ = put(cell.family);
    family_size_ = static_cast<uint32_t>(cell.family.size());
  }
  const bool same_qualifier =
      !cells_.empty() && Bytes(arena_.data() + qualifier_at_, qualifier_size_) == cell.qualifier;
  if (!same_qualifier) {
    qualifier_at_ = put(cell.qualifier);
    qualifier_size_ = static_cast<uint32_t>(cell.qualifier.size());
  }
  const uint32_t value_at = put(cell.value);
  cells_.emplace_back(cell.timestamp_us, family_at_, qualifier_at_, value_at,
                      static_cast<uint32_t>(cell.value.size()),
                      static_cast<uint16_t>(qualifier_size_), static_cast<uint8_t>(family_size_), 0,
                      0, 0);
  bytes_ += sizeof(fb::CellRec);
  row_bytes_ += sizeof(fb::CellRec) + cell.qualifier.size() + cell.value.size();
  ++row_cells_;
  ++cells_seen_;
  return full() ? Flow::pause : Flow::more;
}

CellSink::Flow ChunkBuilder::end_row(Bytes row) {
  if (!row_begun_) begin_row(row);
  const uint16_t flags = static_cast<uint16_t>(fb::RowFlag::Complete) |
                         (continued_ ? static_cast<uint16_t>(fb::RowFlag::Continued) : 0);
  rows_.emplace_back(fb::Span(row_at_, row_size_), row_cells_, flags, 0);
  row_begun_ = in_row_ = continued_ = false;
  ++rows_ended_;
  return full() ? Flow::pause : Flow::more;
}

Bytes ChunkBuilder::finish() {
  if (row_begun_) {
    rows_.emplace_back(fb::Span(row_at_, row_size_), row_cells_,
                       continued_ ? static_cast<uint16_t>(fb::RowFlag::Continued) : uint16_t{0}, 0);
    open_row_.assign(arena_, row_at_, row_size_);
    row_begun_ = false;
    continued_ = true;
  }
  builder_.Clear();
  const auto arena =
      builder_.CreateVector(reinterpret_cast<const uint8_t*>(arena_.data()), arena_.size());
  const auto cells = builder_.CreateVectorOfStructs(cells_);
  const auto rows = builder_.CreateVectorOfStructs(rows_);
  fb::ReadChunkBuilder chunk(builder_);
  chunk.add_rows(rows);
  chunk.add_cells(cells);
  chunk.add_arena(arena);
  const Bytes body = finish_body(builder_, chunk.Finish());
  clear();
  return body;
}

void ChunkBuilder::clear() {
  rows_.clear();
  cells_.clear();
  arena_.clear();
  if (arena_.capacity() > kKeepBytes) arena_.shrink_to_fit();
  bytes_ = 0;
}

void ChunkBuilder::reset() {
  clear();
  if (builder_.GetSize() > kKeepBytes) builder_.Reset();
  row_begun_ = in_row_ = continued_ = false;
  open_row_.clear();
  rows_ended_ = cells_seen_ = 0;
}

}  // namespace cellar::wire
