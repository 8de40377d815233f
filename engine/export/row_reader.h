// The rows of one block of an export file.
//
//   RowReader rows(payload);
//   while (rows.next_row()) while (rows.next_cell(cell)) ...;
//   if (!rows.whole()) ...damaged
#pragma once

#include "engine/export/export_format.h"
#include "io/base/coding.h"

namespace cellar::engine {

// Flags of a cell.
inline constexpr uint8_t kSameFamily = 1;  // same as the previous cell's in the row; not repeated
inline constexpr uint8_t kSameQualifier = 2;  // same as the previous cell's
inline constexpr uint8_t kHasExpiry = 4;

class RowReader {
 public:
  // `payload` must outlive it.
  explicit RowReader(Bytes payload);

  // Moves to the next row and skips the rest of this one.
  bool next_row();
  Bytes key() const { return key_; }
  uint64_t cells() const { return cells_; }  // in this row
  bool next_cell(ExportCell& cell);

  uint64_t rows() const { return block_rows_; }  // according to the block
  uint64_t block_cells() const { return block_cells_; }
  // After the last row: the bytes were valid rows, as many as announced.
  bool whole() const;

 private:
  Reader in_;
  uint64_t block_rows_ = 0;
  uint64_t block_cells_ = 0;
  uint64_t rows_seen_ = 0;
  uint64_t cells_seen_ = 0;
  Bytes key_;
  uint64_t cells_ = 0;
  uint64_t cells_left_ = 0;
  Bytes family_;
  Bytes qualifier_;
  bool bad_ = false;
};

}  // namespace cellar::engine
