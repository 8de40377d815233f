// FateJudge: what becomes of each entry of a row. The one place that decides whether a cell is
// dead; reads hide what it condemns, compaction leaves it out, so the two cannot disagree.
// Retention (rules by age and rank) will be one more reason in judge(), and nothing else changes.
//
// Fed with the merged entries of one row in key order, it needs no look-ahead, because the order of
// keys puts every delete before what it may cover (key.h):
//
//   row delete, newest first        -> row_below_
//   family delete, newest first     -> family_below_
//   column deletes, newest first    -> column_deletes_ (disjoint fragments of timestamps)
//   cells: newest timestamp first; of one timestamp, the newest commit first
//
// The whole rule, in terms of commit stamps (mutation.h says why a commit may be treated as a set):
//   1. what was committed after the reader's stamp does not exist;
//   2. a delete covers cells with a lesser stamp, whatever their timestamps;
//   3. of one column and timestamp the newest commit stands, the others were overwritten;
//   4. a cell of a family that the table does not have, or committed at or before the family's
//      creation, is dead.
//
// (2) and (4) are kept as one number per scope, "dead below this stamp". A marker that a newer
// marker covers wholly is `redundant`: dropping it alone changes no answer, as long as the newer
// one stays at least as long, which holds when both go through the same judge.
//
// Example, reader at 9: cells of f:q  t=5 s=10 (unseen), t=5 s=8 (visible), t=5 s=3 (overwritten),
// t=4 s=6 under a family delete at 7 (deleted).
//
// Cost: a cell compares one prefix and decodes 16 bytes; a new column parses its key once. No
// allocation per cell.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/key.h"
#include "engine/model/schema.h"
#include "engine/model/types.h"
#include "engine/read/column_deletes.h"
#include "engine/read/range_deletes.h"

namespace cellar::engine {

enum class Fate : uint8_t {
  visible,      // a cell that a reader sees
  unseen,       // committed after the reader's stamp
  overwritten,  // a cell; a later commit wrote the same column and timestamp
  deleted,      // a cell under a row, family, column or range delete
  orphaned,     // a cell of a family that does not exist, or no longer the same one
  marker,       // a delete marker that may still cover something
  redundant,    // a delete marker that newer ones cover wholly
  malformed,    // no entry key: DATA_LOSS
};

class FateJudge {
 public:
  // Both must outlive this; `ranges` is built.
  FateJudge(const TableSchema& schema, const RangeDeletes& ranges)
      : schema_(schema), ranges_(ranges) {}

  // Forgets the row.
  void reset() { row_prefix_.clear(); }
  bool in_row(Bytes key) const { return !row_prefix_.empty() && key.starts_with(row_prefix_); }
  // Starts the row of `key`, as of `at`. False when the key is malformed.
  bool begin_row(Bytes key, CommitStamp at);
  // REQUIRES: in_row(key); keys of a row rise from call to call.
  Fate judge(Bytes key);

  // The row; valid after begin_row().
  Bytes row() const { return row_; }
  Bytes row_prefix() const { return row_prefix_; }
  // The entry last judged. Family and qualifier only for cells and column deletes.
  EntryKind kind() const { return kind_; }
  int64_t timestamp_us() const { return timestamp_us_; }
  CommitStamp stamp() const { return stamp_; }
  Bytes family() const { return family_; }
  Bytes qualifier() const { return qualifier_; }
  Bytes column_prefix() const { return column_prefix_; }
  // Rises with every column begun.
  uint64_t column_number() const { return column_number_; }

 private:
  bool parse_suffix(Bytes suffix);
  void enter_family(Bytes family);
  void enter_column(const ParsedKey& parsed);
  Fate judge_row_delete();
  Fate judge_family_delete();
  Fate judge_column_delete();
  Fate judge_cell();

  const TableSchema& schema_;
  const RangeDeletes& ranges_;

  CommitStamp at_;
  std::string row_prefix_;
  std::string row_;
  std::string family_;
  std::string column_prefix_;  // empty: no column begun in this row
  std::string qualifier_;
  uint64_t column_number_ = 0;

  // Cells with a lesser stamp are dead.
  CommitStamp row_below_;
  CommitStamp family_below_;
  CommitStamp column_below_;
  bool in_family_ = false;
  bool family_exists_ = false;
  CommitStamp family_created_;
  ColumnDeletes column_deletes_;
  bool has_last_ = false;
  int64_t last_timestamp_us_ = 0;  // of the last cell that was not unseen

  EntryKind kind_ = EntryKind::cell;
  int64_t timestamp_us_ = 0;
  int64_t start_us_ = 0;
  int64_t end_us_ = 0;
  CommitStamp stamp_;
};

}  // namespace cellar::engine
