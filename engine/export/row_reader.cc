#include "engine/export/row_reader.h"

namespace cellar::engine {

RowReader::RowReader(Bytes payload) : in_(payload) {
  block_rows_ = in_.varint();
  block_cells_ = in_.varint();
}

bool RowReader::next_row() {
  ExportCell skipped;
  while (cells_left_ > 0 && next_cell(skipped)) {
  }
  if (bad_ || !in_.ok() || rows_seen_ == block_rows_) return false;
  key_ = in_.bytes();
  cells_ = in_.varint();
  if (!in_.ok()) return false;
  cells_left_ = cells_;
  ++rows_seen_;
  family_ = qualifier_ = Bytes();
  return true;
}

bool RowReader::next_cell(ExportCell& cell) {
  if (bad_ || cells_left_ == 0) return false;
  const uint8_t flags = in_.u8();
  const bool first = cells_left_ == cells_;
  bad_ = flags > (kSameFamily | kSameQualifier | kHasExpiry) ||
         (first && (flags & (kSameFamily | kSameQualifier)) != 0);
  if (bad_) return false;
  if ((flags & kSameFamily) == 0) family_ = in_.bytes();
  if ((flags & kSameQualifier) == 0) qualifier_ = in_.bytes();
  cell.family = family_;
  cell.qualifier = qualifier_;
  cell.timestamp_us = in_.signed_varint();
  cell.expire_at_us.reset();
  if ((flags & kHasExpiry) != 0) cell.expire_at_us = in_.signed_varint();
  cell.value = in_.bytes();
  bad_ = !in_.ok();
  if (bad_) return false;
  --cells_left_;
  ++cells_seen_;
  return true;
}

bool RowReader::whole() const {
  return !bad_ && in_.ok() && in_.at_end() && cells_left_ == 0 && rows_seen_ == block_rows_ &&
         cells_seen_ == block_cells_;
}

}  // namespace cellar::engine
