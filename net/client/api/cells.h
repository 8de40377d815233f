// What a read returns: cells in blocks that own their bytes. Every Bytes in here views its block
// and lives as long as the block does, moves included.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar::client {

// When a cell dies if nothing more is written, or when it died; and of what. Asked for with
// `explain` or `include_dead`.
struct Explanation {
  int64_t dies_at_us = INT64_MAX;  // it is not read as of this moment or later; INT64_MAX: never
  DeathCause cause = DeathCause::none;
  bool dead = false;
  // The node of the rule in force then that says so, in pre-order; kNoClause: none does.
  uint16_t clause = kNoClause;
};

struct Cell {
  Bytes family;
  Bytes qualifier;
  int64_t timestamp_us = 0;
  Bytes value;
  Bytes labels;                            // separated by commas
  int64_t expire_at_us = kNoExpiry;        // its own; known if the read was `with_expiry`
  const Explanation* explained = nullptr;  // if the read asked for it
};

// A row, or the part of a row that one block carries. Until a part is complete, the row's cells are
// provisional: a stream that fails before has not returned the row. The last part of a row may have
// no cells: a block may be full, or be sent, before it is known that no more follow.
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
  // The node told when its cells expire; one that does not know the question does not.
  bool tells_expiry() const { return tells_expiry_; }

  // Takes the last row out, as a block of its own over the same bytes. REQUIRES: there is one.
  CellBlock split_last();

 private:
  template <class Chunk>
  void add_notes(const Chunk& chunk);

  std::shared_ptr<uint64_t[]> buffer_;  // 8-byte aligned, so that the body is viewed in place
  size_t bytes_ = 0;
  std::shared_ptr<Explanation[]> explanations_;  // of the cells, where there are any
  std::vector<Cell> cells_;
  std::vector<RowPart> rows_;
  bool tells_expiry_ = false;
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
