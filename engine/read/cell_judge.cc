#include "engine/read/cell_judge.h"

#include <algorithm>
#include <limits>

#include "engine/model/key_in_row.h"
#include "engine/model/token.h"
#include "io/base/check.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

// The suffix after a column prefix (key.h) in a column delete: a tag and fixed-size numbers.
constexpr char kColumnDeleteTag = 1;
constexpr size_t kColumnDeleteBytes = 1 + 3 * 8;

}  // namespace

bool CellJudge::begin_row(Bytes key, CommitStamp at, int64_t now_us, int64_t counted_now_us) {
  bool plain = true;
  const size_t size = row_prefix_size(key, plain);
  if (size < 2) return false;
  row_prefix_.assign(key.substr(0, size));
  row_ = row_prefix_.view().substr(0, size - 2);
  if (!plain) row_ = decode_segment(row_, unescaped_row_);
  at_ = at;
  now_us_ = now_us;
  counted_now_us_ = counted_now_us;
  row_below_ = ranges_.empty() ? CommitStamp{} : ranges_.covering(row_, at);
  row_deletes_.clear();
  if (retention_.any_counts()) collect_range_deletes();
  in_family_ = false;
  column_prefix_.clear();
  return true;
}

// Rows of one stretch share the list.
void CellJudge::collect_range_deletes() {
  const size_t stretch =
      row_below_ == CommitStamp{} ? RangeDeletes::kNoStretch : ranges_.stretch_of(row_);
  if (stretch == range_deletes_stretch_ && at_ == range_deletes_at_ &&
      ranges_.builds() == range_deletes_build_)
    return;
  range_deletes_stretch_ = stretch;
  range_deletes_build_ = ranges_.builds();
  range_deletes_at_ = at_;
  range_deletes_.clear();
  if (stretch != RangeDeletes::kNoStretch) ranges_.all_covering(row_, at_, range_deletes_);
}

// The first entry of a column, or an entry outside columns.
CellState CellJudge::judge_other(Bytes key, Bytes value) {
  DCHECK(in_row(key), "an entry of another row");
  KeyInRow parsed;
  if (!parse_key_in_row(key, row_prefix_.size(), parsed)) return CellState::malformed;
  kind_ = parsed.kind;
  stamp_ = parsed.stamp;
  if (kind_ == EntryKind::row_delete) return judge_row_delete();
  if (kind_ == EntryKind::token) return judge_token(value);
  if (!in_family_ || !is_family(parsed.family)) enter_family(parsed.family);
  if (kind_ == EntryKind::family_delete) return judge_family_delete();
  enter_column(parsed);
  timestamp_us_ = parsed.timestamp_us;
  start_us_ = parsed.start_us;
  end_us_ = parsed.end_us;
  return kind_ == EntryKind::cell ? judge_cell(value) : judge_column_delete();
}

// An entry of the current column that is not a cell.
CellState CellJudge::judge_marker(Bytes suffix) {
  if (suffix.size() != kColumnDeleteBytes || suffix[0] != kColumnDeleteTag)
    return CellState::malformed;
  kind_ = EntryKind::column_delete;
  stamp_ = CommitStamp{~load_be64(suffix.data() + 1)};
  start_us_ = static_cast<int64_t>(load_be64(suffix.data() + 9));
  end_us_ = static_cast<int64_t>(load_be64(suffix.data() + 17));
  return judge_column_delete();
}

void CellJudge::enter_family(Bytes family) {
  in_family_ = true;
  family_below_ = row_below_;
  family_deletes_.clear();
  if (!family_known_ || !is_family(family)) find_family(family);
  if (counted_)
    alive_run_.begin_family(*family_retention_, counted_now_us_, deaths_ == Deaths::of_none);
  alive_from_us_ = fatal_age_us_ ? now_us_ - *fatal_age_us_ : 0;
}

// Looks up the data that is the same for all rows.
void CellJudge::find_family(Bytes family) {
  family_.assign(family);
  family_known_ = true;
  counted_ = false;
  fatal_age_us_.reset();
  const FamilySchema* schema = schema_.find_family(family);
  family_from_ = schema != nullptr ? schema->created : kMaxStamp;
  if (schema == nullptr) return;
  family_retention_ = &retention_.family(static_cast<size_t>(schema - schema_.families.data()));
  counted_ = family_retention_->counts();
  fatal_age_us_ = family_retention_->rule().fatal_age_us();
  one_era_ = family_retention_->single();
}

void CellJudge::enter_column(const KeyInRow& parsed) {
  column_prefix_.assign(parsed.column_prefix);
  const size_t at = parsed.column_prefix.size() - parsed.escaped_qualifier.size() - 2;
  qualifier_ = column_prefix_.view().substr(at, parsed.escaped_qualifier.size());
  if (!parsed.plain_qualifier) qualifier_ = decode_segment(qualifier_, unescaped_qualifier_);
  ++column_number_;
  column_below_ = family_below_;
  if (!column_deletes_.empty()) column_deletes_.clear();
  all_column_deletes_.clear();
  judging_column_ = false;
  alive_run_.begin_column();
  last_timestamp_us_ = -1;
}

CellState CellJudge::judge_row_delete() {
  if (stamp_ > at_) return CellState::unseen;
  if (retention_.any_counts()) row_deletes_.push_back(stamp_);
  if (stamp_ <= row_below_) return CellState::redundant;
  row_below_ = stamp_;
  return CellState::marker;
}

CellState CellJudge::judge_family_delete() {
  if (stamp_ > at_) return CellState::unseen;
  if (stamp_ <= family_from_) return CellState::redundant;
  if (counted_) family_deletes_.push_back(stamp_);
  if (stamp_ <= family_below_) return CellState::redundant;
  family_below_ = stamp_;
  return CellState::marker;
}

CellState CellJudge::judge_column_delete() {
  if (stamp_ > at_) return CellState::unseen;
  if (stamp_ <= family_from_) return CellState::redundant;
  if (counted_) all_column_deletes_.push_back({start_us_, end_us_, stamp_});
  if (stamp_ <= column_below_) return CellState::redundant;
  if (start_us_ == 0 && end_us_ == kMaxTimestampUs) {
    column_below_ = stamp_;
    return CellState::marker;
  }
  return column_deletes_.add(start_us_, end_us_, stamp_) ? CellState::marker : CellState::redundant;
}

CellState CellJudge::judge_token(Bytes value) {
  if (stamp_ > at_) return CellState::unseen;
  return parse_token_until(value, token_until_us_) ? CellState::token : CellState::malformed;
}

CellState CellJudge::judge_counted_slowly(bool same_timestamp, bool covered) {
  // The maximum number of cells is alive, so this one and all later ones are out.
  if (!judging_column_ && alive_run_.is_full())
    return same_timestamp ? CellState::overwritten
           : covered      ? CellState::deleted
                          : CellState::ruled_out;
  if (!judging_column_) begin_column_judge();
  return column_judge_.judge({timestamp_us_, stamp_, value_.expire_at_us}, covered);
}

int64_t CellJudge::alive_until_us() const {
  int64_t until_us = value_.expire_at_us;
  // Ages ascend: the first one that is not exceeded comes next.
  for (const StepRule::Step& step : family_retention_->rule().steps()) {
    if (timestamp_us_ > std::numeric_limits<int64_t>::max() - step.older_than_us) break;
    const int64_t crossing_us = timestamp_us_ + step.older_than_us;
    if (crossing_us < now_us_) continue;
    until_us = std::min(until_us, crossing_us);
    break;
  }
  return until_us;
}

void CellJudge::begin_column_judge() {
  judging_column_ = true;
  const DeleteSweep::Whole whole{&range_deletes_, &row_deletes_, &family_deletes_};
  const bool reached = !whole.empty() || !all_column_deletes_.empty();
  const bool exact = deaths_ == Deaths::of_all || (deaths_ == Deaths::of_deleted && reached);
  column_judge_.begin(*family_retention_, counted_now_us_, exact, whole, all_column_deletes_);
  for (const ColumnJudge::Cell& cell : alive_run_.close()) column_judge_.judge(cell, false);
}

}  // namespace cellar::engine
