// Results of reads: cells in blocks that own their bytes. Every Bytes here points into its block
// and is valid as long as the block lives, including moves.
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

// When a cell expires or expired, and why. Requested with `explain` or `include_dead`.
struct Explanation {
  int64_t dies_at_us = INT64_MAX;  // not readable from this time on; INT64_MAX: never
  DeathCause cause = DeathCause::none;
  bool dead = false;
  // Pre-order index of the deciding node of the rule then in force; kNoClause: none.
  uint16_t clause = kNoClause;
};

struct Cell {
  Bytes family;
  Bytes qualifier;
  int64_t timestamp_us = 0;
  Bytes value;
  Bytes labels;                      // separated by commas
  int64_t expire_at_us = kNoExpiry;  // the cell's own expiry; valid if the read was `with_expiry`
  const Explanation* explained = nullptr;  // if requested
};

// Of an explained read of one row: the runs of its tablet on disk, and those that the same read
// without explanation opens, unless the row cache has its answer. Zeros: not known.
struct RunCount {
  uint32_t all = 0;
  uint32_t opened = 0;
};

// A row, or the part of a row in one block. Until a part is complete, the row's cells are
// provisional: if the stream fails before, the row was not returned. The last part may have no
// cells, because a block may be sent before the end of the row is known.
struct RowPart {
  Bytes key;
  std::span<const Cell> cells;
  bool continued = false;  // continues a row of an earlier block
  bool complete = true;    // the row ends here
};

class CellBlock {
 public:
  CellBlock() = default;
  CellBlock(CellBlock&&) = default;
  CellBlock& operator=(CellBlock&&) = default;

  // Copies and checks the body of a ReadChunk; INTERNAL if it is invalid. An empty body has no
  // rows.
  static Result<CellBlock> decode(Bytes body);
  // The same for a body of the answer to a Get of `row`.
  static Result<CellBlock> decode_got(Bytes row, Bytes body, bool continued, bool complete);

  std::span<const RowPart> rows() const { return rows_; }
  std::span<const Cell> cells() const { return cells_; }
  bool empty() const { return rows_.empty(); }
  size_t bytes() const { return bytes_; }
  bool answer_not_kept() const { return answer_not_kept_; }
  bool repeated() const { return repeated_; }
  uint64_t commit_stamp_ns() const { return commit_stamp_ns_; }
  RunCount runs() const { return runs_; }
  // Of a read through an index: the place of the last complete hit; ReadIndex::after continues
  // behind it. Empty: the block completes none.
  Bytes position() const { return position_; }
  // Whether the node returned expiry times; older nodes do not.
  bool tells_expiry() const { return tells_expiry_; }

  // Removes the last row and returns it as a block that shares the bytes. REQUIRES: not empty.
  CellBlock split_last();

 private:
  template <class Chunk>
  void add_notes(const Chunk& chunk);

  std::shared_ptr<uint64_t[]> buffer_;  // 8-byte aligned, so that the body is read in place
  size_t bytes_ = 0;
  std::shared_ptr<Explanation[]> explanations_;  // of the cells, if present
  std::vector<Cell> cells_;
  std::vector<RowPart> rows_;
  bool tells_expiry_ = false;
  bool answer_not_kept_ = false;
  bool repeated_ = false;
  uint64_t commit_stamp_ns_ = 0;
  RunCount runs_;
  Bytes position_;
};

// One complete row; several blocks if it is larger than a chunk.
class Row {
 public:
  Row() = default;
  // REQUIRES: the blocks of one complete row, in order.
  explicit Row(std::vector<CellBlock> blocks);
  Bytes key() const { return key_; }
  std::span<const Cell> cells() const { return cells_; }
  // The newest cell of a column, or null if there is none.
  const Cell* find(Bytes family, Bytes qualifier) const;
  // For a write with a token: see MutateReply.
  bool answer_not_kept() const { return !blocks_.empty() && blocks_.front().answer_not_kept(); }
  bool repeated() const { return !blocks_.empty() && blocks_.front().repeated(); }
  // Of a read-modify-write; 0: not known (repeated).
  uint64_t commit_stamp_ns() const {
    return blocks_.empty() ? 0 : blocks_.front().commit_stamp_ns();
  }
  RunCount runs() const { return blocks_.empty() ? RunCount() : blocks_.back().runs(); }

 private:
  std::vector<CellBlock> blocks_;
  std::vector<Cell> joined_;  // if there are several blocks
  std::span<const Cell> cells_;
  Bytes key_;
};

}  // namespace cellar::client
