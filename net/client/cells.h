// What a read returns: cells in blocks that own their bytes. Every Bytes in here views its block
// and lives as long as the block does, moves included.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::client {

struct Cell {
  Bytes family;
  Bytes qualifier;
  int64_t timestamp_us = 0;
  Bytes value;
  Bytes labels;  // separated by commas
};

// A row, or the part of a row that one block carries. Until a part is complete, the row's cells are
// provisional: a stream that fails before has not returned the row.
struct RowPart {
  Bytes key;
  std::span<const Cell> cells;
  bool continued = false;  // the row began in an earlier block
  bool complete = true;    // the row ends here
};

class CellBlock {
 public:
  CellBlock() = default;
  CellBlock(CellBlock&&) = default;
  CellBlock& operator=(CellBlock&&) = default;

  // Copies and checks the body of a ReadChunk; INTERNAL when it is not one. No body: no rows.
  static Result<CellBlock> decode(Bytes body);

  std::span<const RowPart> rows() const { return rows_; }
  std::span<const Cell> cells() const { return cells_; }
  bool empty() const { return rows_.empty(); }
  size_t bytes() const { return bytes_; }
  bool answer_not_kept() const { return answer_not_kept_; }
  bool repeated() const { return repeated_; }

  // Takes the last row out, as a block of its own over the same bytes. REQUIRES: there is one.
  CellBlock split_last();

 private:
  std::shared_ptr<uint64_t[]> buffer_;  // 8-byte aligned, so that the body is viewed in place
  size_t bytes_ = 0;
  std::vector<Cell> cells_;
  std::vector<RowPart> rows_;
  bool answer_not_kept_ = false;
  bool repeated_ = false;
};

// One row, whole; more than one block where it is larger than a chunk.
class Row {
 public:
  Row() = default;
  // REQUIRES: a complete row, in order.
  explicit Row(std::vector<CellBlock> blocks);
  Bytes key() const { return key_; }
  std::span<const Cell> cells() const { return cells_; }
  // The newest cell of a column, or null.
  const Cell* find(Bytes family, Bytes qualifier) const;
  // Of a write with a token: see MutateReply.
  bool answer_not_kept() const { return !blocks_.empty() && blocks_.front().answer_not_kept(); }
  bool repeated() const { return !blocks_.empty() && blocks_.front().repeated(); }

 private:
  std::vector<CellBlock> blocks_;
  std::vector<Cell> joined_;  // when there are several blocks
  std::span<const Cell> cells_;
  Bytes key_;
};

}  // namespace cellar::client
