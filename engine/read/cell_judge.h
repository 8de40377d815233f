// CellJudge: determines the state of each entry of a row. It is the only code that decides whether
// a cell is dead; reads hide dead cells, and merges drop them as far as that changes no answer
// (retention/drop_policy.h), so the two cannot disagree.
//
// It receives the merged entries of one row in key order and needs no look-ahead, because key order
// puts every delete before what it may cover (key.h):
//
//   row delete, newest first        -> row_below_
//   family delete, newest first     -> family_below_
//   column deletes, newest first    -> column_deletes_ (disjoint fragments of timestamps)
//   cells: newest timestamp first; at one timestamp, the newest commit first
//   tokens, after everything else   -> unaffected by and without effect on others
//
// The rule in terms of commit stamps (mutation.h explains why a commit can be treated as a set):
//   1. an entry committed after the reader's stamp does not exist;
//   2. a delete covers cells with a lesser stamp, whatever their timestamps;
//   3. of one column and timestamp the newest commit counts, the others are overwritten;
//   4. a cell of a family that the table does not have, or committed at or before the family's
//      creation, is dead;
//   5. the remaining cells die by their family's rule and their own expiry, at one `now` a row.
//
// (2) and (4) are one number per scope, "dead below this stamp". (5) is one comparison for a family
// that does not count versions, and ColumnJudge's decision for one that does; only then are all
// deletes remembered, and none is redundant. Otherwise a marker completely covered by a newer one
// is `redundant`: dropping it alone changes no answer as long as the newer one stays at least as
// long, which holds if both pass through the same judge.
//
// Example, reader at 9: cells of f:q  t=5 s=10 (unseen), t=5 s=8 (visible), t=5 s=3 (overwritten),
// t=4 s=6 under a family delete at 7 (deleted).
//
// Cost: a cell compares one prefix and decodes 16 bytes; a new column parses its key once. Under a
// rule that counts versions AliveRun judges cells while all of their column are alive, for about
// the cost of an age comparison. Allocates only for long keys.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "engine/iter/begins_with.h"
#include "engine/model/key.h"
#include "engine/model/key_in_row.h"
#include "engine/model/schema.h"
#include "engine/model/types.h"
#include "engine/read/column_deletes.h"
#include "engine/read/range_deletes.h"
#include "engine/retention/alive_run.h"
#include "engine/retention/cell_state.h"
#include "engine/retention/column_judge.h"
#include "engine/retention/family_retention.h"
#include "engine/sstable/key_buffer.h"
#include "io/base/coding.h"

namespace cellar::engine {

class CellJudge {
 public:
  // All arguments must outlive this; `retention` is the schema's, `ranges` is built.
  CellJudge(const TableSchema& schema, const TableRetention& retention, const RangeDeletes& ranges)
      : schema_(schema), retention_(retention), ranges_(ranges) {}

  // Columns with a delete are judged exactly, and so is every column if `all`: died() is then known
  // wherever clean() is false. For merges.
  void want_deaths(bool all) { deaths_ = all ? Deaths::of_all : Deaths::of_deleted; }

  // Leaves the row.
  void reset() { row_prefix_.clear(); }
  bool in_row(Bytes key) const {
    return row_prefix_.size() != 0 && begins_with(key, row_prefix_.view());
  }
  // The key is in the column judged last, and so in the row.
  bool in_column(Bytes key) const {
    return column_prefix_.size() != 0 && begins_with(key, column_prefix_.view());
  }
  // Starts the row of `key`: commits up to `at`, time up to `now_us`, which is not before them.
  // False if the key is malformed.
  bool begin_row(Bytes key, CommitStamp at, int64_t now_us) {
    return begin_row(key, at, now_us, now_us);
  }
  // `counted_now_us`: the time for families that count versions.
  bool begin_row(Bytes key, CommitStamp at, int64_t now_us, int64_t counted_now_us);
  // REQUIRES: in_row(key); ascending keys within a row; `value` belongs to the entry.
  CellState judge(Bytes key, Bytes value) {
    return in_column(key) ? judge_in_column(key, value) : judge_other(key, value);
  }
  // The same; also REQUIRES in_column(key).
  CellState judge_in_column(Bytes key, Bytes value) {
    const Bytes suffix = key.substr(column_prefix_.size());
    if (!is_cell_suffix(suffix)) return judge_marker(suffix);
    kind_ = EntryKind::cell;
    timestamp_us_ = static_cast<int64_t>(~load_be64(suffix.data() + 1));
    stamp_ = CommitStamp{~load_be64(suffix.data() + 9)};
    return judge_cell(value);
  }

  // The current row; valid after begin_row().
  Bytes row() const { return row_; }
  Bytes row_prefix() const { return row_prefix_.view(); }
  // The entry judged last. Family and qualifier only for cells and column deletes.
  EntryKind kind() const { return kind_; }
  int64_t timestamp_us() const { return timestamp_us_; }
  CommitStamp stamp() const { return stamp_; }
  Bytes family() const { return family_; }
  Bytes qualifier() const { return qualifier_; }
  Bytes column_prefix() const { return column_prefix_.view(); }
  // Incremented for every new column.
  uint64_t column_number() const { return column_number_; }
  const CellValue& value() const {
    return value_;
  }  // for a cell that is neither unseen nor orphaned
  // For a token: the last time at which it counts.
  int64_t token_until_us() const { return token_until_us_; }
  bool counts() const { return counted_; }  // the current family counts versions
  // The family of a cell that is not orphaned.
  const FamilyRetention& family_retention() const { return *family_retention_; }
  // The state was decided without the times of events, and no delete covers the cell. REQUIRES: the
  // family counts; want_deaths().
  bool clean() const { return !column_judge_.exact(); }
  Instant died() const { return column_judge_.died(); }  // REQUIRES: !clean()
  const ColumnJudge& column_judge() const { return column_judge_; }
  // The deletes judged so far cover all lesser stamps of the row, of the current family, and of the
  // current column; 0: none.
  CommitStamp row_below() const { return row_below_; }
  CommitStamp family_below() const { return family_below_; }  // REQUIRES: one was judged
  CommitStamp column_below() const { return column_below_; }  // REQUIRES: one was judged
  // The last time at which the cell judged last, which is visible, is certainly alive if nothing is
  // committed. REQUIRES: the family has one era.
  int64_t alive_until_us() const;
  // No later cell in this column can be visible.
  bool column_is_full() const {
    return counted_ && (judging_column_ ? column_judge_.is_full() : alive_run_.is_full());
  }

 private:
  CellState judge_other(Bytes key, Bytes value);
  // The suffix after a column prefix belongs to a cell (key.h).
  static bool is_cell_suffix(Bytes suffix) {
    return suffix.size() == 1 + 2 * 8 && suffix[0] == '\x02';
  }
  CellState judge_marker(Bytes suffix);
  // It is the family looked up last.
  bool is_family(Bytes family) const {
    return family.size() == family_.size() && begins_with(family, family_);
  }
  void enter_family(Bytes family);
  void find_family(Bytes family);
  void enter_column(const KeyInRow& parsed);
  CellState judge_row_delete();
  CellState judge_family_delete();
  CellState judge_column_delete();
  CellState judge_token(Bytes value);
  CellState judge_cell(Bytes value) {
    if (stamp_ > at_) return CellState::unseen;
    const bool same_timestamp = last_timestamp_us_ == timestamp_us_;
    last_timestamp_us_ = timestamp_us_;
    if (stamp_ <= family_from_) return CellState::orphaned;
    if (!parse_value(value)) return CellState::malformed;
    const bool covered =
        stamp_ < column_below_ ||
        (!column_deletes_.empty() && stamp_ < column_deletes_.covering(timestamp_us_));
    const CellState fate =
        counted_ ? judge_counted(same_timestamp, covered) : judge_alone(same_timestamp, covered);
    return fate == CellState::visible && value_.tombstone ? CellState::expired : fate;
  }
  // Parses a value into value_; handles the common case inline.
  bool parse_value(Bytes value) {
    constexpr char kHasExpiry = 1;  // see key.h
    const char flags = value.empty() ? '\xff' : value[0];
    if (flags != 0 && flags != kHasExpiry) return parse_cell_value(value, value_);
    Reader in(value.substr(1));
    value_ = {flags == 0 ? kNoExpiry : in.signed_varint(), in.rest(), false};
    return in.ok();
  }
  CellState judge_alone(bool same_timestamp, bool covered) const {
    if (same_timestamp) return CellState::overwritten;
    if (covered) return CellState::deleted;
    if (value_.expire_at_us != kNoExpiry)
      return now_us_ > value_.expire_at_us ? CellState::expired : CellState::visible;
    if (timestamp_us_ < alive_from_us_) return CellState::ruled_out;
    return one_era_ || !family_retention_->dead_by_age(timestamp_us_, stamp_, now_us_)
               ? CellState::visible
               : CellState::ruled_out;
  }
  CellState judge_counted(bool same_timestamp, bool covered) {
    if (!same_timestamp && !covered && alive_run_.take(timestamp_us_, stamp_, value_.expire_at_us))
      return CellState::visible;
    return judge_counted_slowly(same_timestamp, covered);
  }
  CellState judge_counted_slowly(bool same_timestamp, bool covered);
  void begin_column_judge();
  void collect_range_deletes();

  enum class Deaths : uint8_t { of_none, of_deleted, of_all };

  const TableSchema& schema_;
  const TableRetention& retention_;
  const RangeDeletes& ranges_;

  Deaths deaths_ = Deaths::of_none;
  CommitStamp at_;
  int64_t now_us_ = 0;
  int64_t counted_now_us_ = 0;
  KeyBuffer row_prefix_;
  KeyBuffer column_prefix_;  // empty: no column started in this row
  // Views of the prefixes if nothing is escaped in them, else of the buffers that follow.
  Bytes row_;
  Bytes qualifier_;
  std::string unescaped_row_;
  std::string unescaped_qualifier_;
  std::string family_;
  uint64_t column_number_ = 0;

  // Cells with a lesser stamp are dead.
  CommitStamp row_below_;
  CommitStamp family_below_;
  CommitStamp column_below_;
  bool in_family_ = false;
  // Data of the family looked up last, which is the current one if in_family_.
  bool family_known_ = false;
  CommitStamp family_from_;  // commits up to here are dead; kMaxStamp: no such family
  const FamilyRetention* family_retention_ = nullptr;
  bool counted_ = false;  // it counts versions; otherwise:
  std::optional<int64_t> fatal_age_us_;
  int64_t alive_from_us_ = 0;  // older timestamps are dead by the present rule
  bool one_era_ = true;        // the present rule is the only one

  ColumnDeletes column_deletes_;
  int64_t last_timestamp_us_ = -1;  // of the last cell that was not unseen; -1: none

  // If versions count: every delete, newest first. Those of row ranges apply to all rows of a
  // stretch with the same ranges.
  std::vector<CommitStamp> range_deletes_;
  size_t range_deletes_stretch_ = SIZE_MAX;  // initially none
  uint64_t range_deletes_build_ = 0;
  CommitStamp range_deletes_at_;
  std::vector<CommitStamp> row_deletes_;
  std::vector<CommitStamp> family_deletes_;
  std::vector<DeleteSweep::Range> all_column_deletes_;
  AliveRun alive_run_;  // of the current family, if it counts versions
  ColumnJudge column_judge_;
  bool judging_column_ = false;  // column_judge_ handles the current column instead of alive_run_

  CellValue value_;
  int64_t token_until_us_ = 0;
  EntryKind kind_ = EntryKind::cell;
  int64_t timestamp_us_ = 0;
  int64_t start_us_ = 0;
  int64_t end_us_ = 0;
  CommitStamp stamp_;
};

}  // namespace cellar::engine
