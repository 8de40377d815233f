#include "engine/read/fate.h"

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

bool FateJudge::begin_row(Bytes key, CommitStamp at) {
  const size_t size = row_prefix_size(key);
  if (size < 2) return false;
  row_prefix_.assign(key.substr(0, size));
  std::string scratch;
  row_.assign(decode_segment(key.substr(0, size - 2), scratch));
  at_ = at;
  row_below_ = ranges_.empty() ? CommitStamp{} : ranges_.covering(row_, at);
  family_.clear();
  in_family_ = false;
  column_prefix_.clear();
  return true;
}

Fate FateJudge::judge(Bytes key) {
  DCHECK(in_row(key), "an entry of another row");
  if (!column_prefix_.empty() && key.starts_with(column_prefix_)) {
    if (!parse_suffix(key.substr(column_prefix_.size()))) return Fate::malformed;
    return kind_ == EntryKind::cell ? judge_cell() : judge_column_delete();
  }
  ParsedKey parsed;
  if (!parse_key(key, parsed)) return Fate::malformed;
  kind_ = parsed.kind;
  stamp_ = parsed.stamp;
  if (kind_ == EntryKind::row_delete) return judge_row_delete();
  if (!in_family_ || family_ != parsed.family) enter_family(parsed.family);
  if (kind_ == EntryKind::family_delete) return judge_family_delete();
  enter_column(parsed);
  timestamp_us_ = parsed.timestamp_us;
  start_us_ = parsed.start_us;
  end_us_ = parsed.end_us;
  return kind_ == EntryKind::cell ? judge_cell() : judge_column_delete();
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
  family_created_ = schema != nullptr ? schema->created : CommitStamp{};
  family_below_ = row_below_;
}

void FateJudge::enter_column(const ParsedKey& parsed) {
  column_prefix_.assign(parsed.column_prefix);
  std::string scratch;
  qualifier_.assign(decode_segment(parsed.escaped_qualifier, scratch));
  ++column_number_;
  column_below_ = family_below_;
  column_deletes_.clear();
  has_last_ = false;
}

Fate FateJudge::judge_row_delete() {
  if (stamp_ > at_) return Fate::unseen;
  if (stamp_ <= row_below_) return Fate::redundant;
  row_below_ = stamp_;
  return Fate::marker;
}

Fate FateJudge::judge_family_delete() {
  if (stamp_ > at_) return Fate::unseen;
  if (!family_exists_ || stamp_ <= family_created_ || stamp_ <= family_below_)
    return Fate::redundant;
  family_below_ = stamp_;
  return Fate::marker;
}

Fate FateJudge::judge_column_delete() {
  if (stamp_ > at_) return Fate::unseen;
  if (!family_exists_ || stamp_ <= family_created_ || stamp_ <= column_below_)
    return Fate::redundant;
  if (start_us_ == 0 && end_us_ == kMaxTimestampUs) {
    column_below_ = stamp_;
    return Fate::marker;
  }
  return column_deletes_.add(start_us_, end_us_, stamp_) ? Fate::marker : Fate::redundant;
}

Fate FateJudge::judge_cell() {
  if (stamp_ > at_) return Fate::unseen;
  const bool same_timestamp = has_last_ && last_timestamp_us_ == timestamp_us_;
  has_last_ = true;
  last_timestamp_us_ = timestamp_us_;
  if (!family_exists_ || stamp_ <= family_created_) return Fate::orphaned;
  if (same_timestamp) return Fate::overwritten;
  if (stamp_ < column_below_) return Fate::deleted;
  if (!column_deletes_.empty() && stamp_ < column_deletes_.covering(timestamp_us_))
    return Fate::deleted;
  return Fate::visible;
}

}  // namespace cellar::engine
