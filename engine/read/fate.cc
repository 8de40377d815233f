#include "engine/read/fate.h"

#include <algorithm>
#include <functional>

#include "engine/model/token.h"
#include "io/base/check.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

// What follows a column prefix (key.h): a tag and fixed numbers.
constexpr char kColumnDeleteTag = 1;
constexpr char kCellTag = 2;
constexpr size_t kColumnDeleteBytes = 1 + 3 * 8;
constexpr size_t kCellBytes = 1 + 2 * 8;

}  // namespace

bool FateJudge::begin_row(Bytes key, CommitStamp at, int64_t now_us, int64_t counted_now_us) {
  const size_t size = row_prefix_size(key);
  if (size < 2) return false;
  row_prefix_.assign(key.substr(0, size));
  std::string scratch;
  row_.assign(decode_segment(key.substr(0, size - 2), scratch));
  at_ = at;
  now_us_ = now_us;
  counted_now_us_ = counted_now_us;
  row_below_ = ranges_.empty() ? CommitStamp{} : ranges_.covering(row_, at);
  row_deletes_.clear();
  if (row_below_ != CommitStamp{} && retention_.any_counts()) {
    ranges_.all_covering(row_, at, row_deletes_);
  }
  family_.clear();
  in_family_ = false;
  column_prefix_.clear();
  return true;
}

Fate FateJudge::judge(Bytes key, Bytes value) {
  DCHECK(in_row(key), "an entry of another row");
  if (!column_prefix_.empty() && key.starts_with(column_prefix_)) {
    if (!parse_suffix(key.substr(column_prefix_.size()))) return Fate::malformed;
    return kind_ == EntryKind::cell ? judge_cell(value) : judge_column_delete();
  }
  ParsedKey parsed;
  if (!parse_key(key, parsed)) return Fate::malformed;
  kind_ = parsed.kind;
  stamp_ = parsed.stamp;
  if (kind_ == EntryKind::row_delete) return judge_row_delete();
  if (kind_ == EntryKind::token) return judge_token(value);
  if (!in_family_ || family_ != parsed.family) enter_family(parsed.family);
  if (kind_ == EntryKind::family_delete) return judge_family_delete();
  enter_column(parsed);
  timestamp_us_ = parsed.timestamp_us;
  start_us_ = parsed.start_us;
  end_us_ = parsed.end_us;
  return kind_ == EntryKind::cell ? judge_cell(value) : judge_column_delete();
}

bool FateJudge::parse_suffix(Bytes suffix) {
  if (suffix.size() == kCellBytes && suffix[0] == kCellTag) {
    kind_ = EntryKind::cell;
    timestamp_us_ = static_cast<int64_t>(~load_be64(suffix.data() + 1));
    stamp_ = CommitStamp{~load_be64(suffix.data() + 9)};
    return true;
  }
  if (suffix.size() == kColumnDeleteBytes && suffix[0] == kColumnDeleteTag) {
    kind_ = EntryKind::column_delete;
    stamp_ = CommitStamp{~load_be64(suffix.data() + 1)};
    start_us_ = static_cast<int64_t>(load_be64(suffix.data() + 9));
    end_us_ = static_cast<int64_t>(load_be64(suffix.data() + 17));
    return true;
  }
  return false;
}

void FateJudge::enter_family(Bytes family) {
  family_.assign(family);
  in_family_ = true;
  const FamilySchema* schema = schema_.find_family(family);
  family_exists_ = schema != nullptr;
  counted_ = false;
  family_created_ = schema != nullptr ? schema->created : CommitStamp{};
  family_below_ = row_below_;
  family_deletes_.clear();
  if (schema == nullptr) return;
  family_retention_ = &retention_.family(static_cast<size_t>(schema - schema_.families.data()));
  counted_ = family_retention_->counts();
}

void FateJudge::enter_column(const ParsedKey& parsed) {
  column_prefix_.assign(parsed.column_prefix);
  std::string scratch;
  qualifier_.assign(decode_segment(parsed.escaped_qualifier, scratch));
  ++column_number_;
  column_below_ = family_below_;
  column_deletes_.clear();
  all_column_deletes_.clear();
  judging_column_ = false;
  has_last_ = false;
}

Fate FateJudge::judge_row_delete() {
  if (stamp_ > at_) return Fate::unseen;
  if (retention_.any_counts()) {
    // Range deletes of the row may lie anywhere among them.
    const auto place =
        std::lower_bound(row_deletes_.begin(), row_deletes_.end(), stamp_, std::greater<>());
    row_deletes_.insert(place, stamp_);
  }
  if (stamp_ <= row_below_) return Fate::redundant;
  row_below_ = stamp_;
  return Fate::marker;
}

Fate FateJudge::judge_family_delete() {
  if (stamp_ > at_) return Fate::unseen;
  if (!family_exists_ || stamp_ <= family_created_) return Fate::redundant;
  if (counted_) family_deletes_.push_back(stamp_);
  if (stamp_ <= family_below_) return Fate::redundant;
  family_below_ = stamp_;
  return Fate::marker;
}

Fate FateJudge::judge_column_delete() {
  if (stamp_ > at_) return Fate::unseen;
  if (!family_exists_ || stamp_ <= family_created_) return Fate::redundant;
  if (counted_) all_column_deletes_.push_back({start_us_, end_us_, stamp_});
  if (stamp_ <= column_below_) return Fate::redundant;
  if (start_us_ == 0 && end_us_ == kMaxTimestampUs) {
    column_below_ = stamp_;
    return Fate::marker;
  }
  return column_deletes_.add(start_us_, end_us_, stamp_) ? Fate::marker : Fate::redundant;
}

Fate FateJudge::judge_token(Bytes value) {
  if (stamp_ > at_) return Fate::unseen;
  return parse_token_until(value, token_until_us_) ? Fate::token : Fate::malformed;
}

Fate FateJudge::judge_cell(Bytes value) {
  if (stamp_ > at_) return Fate::unseen;
  const bool same_timestamp = has_last_ && last_timestamp_us_ == timestamp_us_;
  has_last_ = true;
  last_timestamp_us_ = timestamp_us_;
  if (!family_exists_ || stamp_ <= family_created_) return Fate::orphaned;
  if (!parse_cell_value(value, value_)) return Fate::malformed;
  const bool covered = stamp_ < column_below_ || (!column_deletes_.empty() &&
                                                  stamp_ < column_deletes_.covering(timestamp_us_));
  const Fate fate = counted_ ? judge_counted(covered) : judge_alone(same_timestamp, covered);
  return fate == Fate::visible && value_.husk ? Fate::expired : fate;
}

Fate FateJudge::judge_alone(bool same_timestamp, bool covered) const {
  if (same_timestamp) return Fate::overwritten;
  if (covered) return Fate::deleted;
  if (value_.expire_at_us != kNoExpiry) {
    return now_us_ > value_.expire_at_us ? Fate::expired : Fate::visible;
  }
  return family_retention_->dead_by_age(timestamp_us_, stamp_, now_us_) ? Fate::ruled_out
                                                                        : Fate::visible;
}

bool FateJudge::reached_by_delete() const {
  return !row_deletes_.empty() || !family_deletes_.empty() || !all_column_deletes_.empty();
}

Fate FateJudge::judge_counted(bool covered) {
  if (!judging_column_) {
    judging_column_ = true;
    const bool exact =
        deaths_ == Deaths::of_all || (deaths_ == Deaths::of_deleted && reached_by_delete());
    column_judge_.begin(*family_retention_, counted_now_us_, exact, row_deletes_, family_deletes_,
                        all_column_deletes_);
  }
  return column_judge_.judge({timestamp_us_, stamp_, value_.expire_at_us}, covered);
}

}  // namespace cellar::engine
