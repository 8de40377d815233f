#include "engine/read/scan.h"

#include <algorithm>

#include "engine/read/block_load.h"
#include "io/base/check.h"

namespace cellar::engine {
namespace {

// So many cells are stepped over before seeking: a seek costs about as much.
constexpr uint32_t kStepsBeforeSeek = 8;
// What an entry of this many value bytes costs more than one without.
constexpr size_t kValueBytesPerEntry = 1024;
constexpr int64_t kSeekCost = 8;

// Greater than every entry key: no row has so many bytes.
std::string after_every_row() { return std::string(kMaxRowKeyBytes + 1, '\xff'); }

}  // namespace

ScanCursor::ScanCursor(ScanSetup setup)
    : setup_(std::move(setup)),
      reversed_(setup_.spec.reversed),
      judge_(*setup_.schema, range_deletes_),
      select_(setup_.spec.time_range, setup_.spec.versions) {
  const auto& ranges = setup_.spec.rows.ranges();
  if (ranges.empty()) {
    place_ = Place::finished;
    return;
  }
  for (const KeyRange& range : ranges)
    bounds_.push_back(
        {row_prefix(range.start), range.end.empty() ? after_every_row() : row_prefix(range.end)});
  if (reversed_) std::reverse(bounds_.begin(), bounds_.end());

  ReadScope scope;
  scope.first_row = ranges.front().start;
  scope.end_row = ranges.back().end;
  scope.single_row = ranges.size() == 1 && scope.end_row.size() == scope.first_row.size() + 1 &&
                     scope.end_row.back() == '\0' && scope.end_row.starts_with(scope.first_row);
  scope.time_range = setup_.spec.time_range;
  for (const auto& source : setup_.sources)
    if (auto it = source->open(scope)) merge_.add(std::move(it));
}

ScanCursor::~ScanCursor() = default;

ScanStep ScanCursor::run(CellSink& sink, uint32_t entries) {
  if (error_) return ScanStep::failed;
  if (place_ == Place::finished) return ScanStep::done;
  slice_left_ = entries;
  leave_.reset();
  Step step = go_on();
  while (true) {
    if (error_) return ScanStep::failed;
    if (place_ == Place::finished) return ScanStep::done;
    if (leave_) return *leave_;
    if (step == Step::blocked) {
      place_ = Place::moving;
      return ScanStep::blocked;
    }
    if (step == Step::failed) {
      error_ = merge_.error();
      return ScanStep::failed;
    }
    step = take(step, sink);
  }
}

Async<void> ScanCursor::load() { return load_blocks(merge_); }

// The first move of a run().
Step ScanCursor::go_on() {
  switch (place_) {
    case Place::fresh:
      return place_fresh();
    case Place::in_row:
      return merge_.next();
    case Place::moving:
      return merge_.resume();
    case Place::between:
      return place_again();
    case Place::finished:
      break;
  }
  UNREACHABLE("a finished cursor moves");
}

Step ScanCursor::place_fresh() {
  renew_stamp();
  return reversed_ ? seek(Aim::row_before, bounds_[0].upper) : seek(Aim::entry, bounds_[0].lower);
}

// Goes on between two rows, or between two ranges.
Step ScanCursor::place_again() {
  if (reversed_) {
    renew_stamp();
    const std::string& upper = bounds_[range_].upper;
    const bool entered = !row_prefix_.empty() && row_prefix_ < upper;
    return seek(Aim::row_before, entered ? row_prefix_ : upper);
  }
  if (setup_.visible->visible_stamp() == stamp_) return stood_;
  renew_stamp();
  const std::string& lower = bounds_[range_].lower;
  const bool entered = !row_prefix_.empty() && row_prefix_ >= lower;
  return seek(Aim::entry, entered ? row_prefix_end(row_prefix_) : lower);
}

// Ends the slice where no row is open; `step` is where merge_ stands.
Step ScanCursor::yield_between(Step step) {
  stood_ = step;
  place_ = Place::between;
  leave(ScanStep::yielded);
  return step;
}

// Takes the visible stamp. REQUIRES: a seek follows before any entry is looked at.
void ScanCursor::renew_stamp() {
  stamp_ = setup_.visible->visible_stamp();
  size_t count = 0;
  for (const auto& source : setup_.sources) count += source->range_deletes().size();
  if (count == range_delete_count_) return;
  range_delete_count_ = count;
  range_deletes_.clear();
  const auto& ranges = setup_.spec.rows.ranges();
  for (const auto& source : setup_.sources)
    for (const StampedRange& range : source->range_deletes()) {
      const bool ends_before = !range.end.empty() && range.end <= ranges.front().start;
      const bool starts_after = !ranges.back().end.empty() && range.start >= ranges.back().end;
      if (!ends_before && !starts_after) range_deletes_.add(range);
    }
  range_deletes_.build(stamp_);
}

Step ScanCursor::seek(Aim aim, Bytes key) {
  aim_ = aim;
  slice_left_ -= kSeekCost;
  target_.assign(key);
  return aim == Aim::row_before ? merge_.seek_before(target_) : merge_.seek(target_);
}

// Looks at what a move found, and makes the next move.
Step ScanCursor::take(Step step, CellSink& sink) {
  if (aim_ == Aim::row_before) return take_row_before(step);
  aim_ = Aim::entry;
  const bool here = step == Step::ready && row_open_ && judge_.in_row(merge_.key());
  if (row_open_ && !here && !close_row(sink)) {
    stood_ = step;
    place_ = rows_ == setup_.spec.row_limit && rows_ != 0 ? Place::finished : Place::between;
    return step;
  }
  if (here) return take_entry(sink);
  if (reversed_ && (step == Step::end || !merge_.key().starts_with(row_prefix_)))
    return after_row();
  if (step == Step::end) return finish();
  const Bytes key = merge_.key();
  while (key >= bounds_[range_].upper)
    if (++range_ == bounds_.size()) return finish();
  if (key < bounds_[range_].lower) {
    if (slice_left_ <= 0) return yield_between(step);
    return seek(Aim::entry, bounds_[range_].lower);
  }
  const Step entered = enter_row();
  return error_ ? entered : take_entry(sink);
}

// False when run() must end now: the sink asked for a pause, or the row limit is reached.
bool ScanCursor::close_row(CellSink& sink) {
  row_open_ = false;
  if (!row_gave_) return true;
  ++rows_;
  const bool pause = sink.end_row(judge_.row()) == CellSink::Flow::pause;
  const bool last = rows_ == setup_.spec.row_limit;
  if (pause) leave(ScanStep::paused);
  return !pause && !last;
}

// Reversed: goes to the row before the one just read.
Step ScanCursor::after_row() {
  if (slice_left_ <= 0) return yield_between(Step::end);
  return seek(Aim::row_before, row_prefix_);
}

// Reversed: merge_ stands in the greatest row before the bound. Is it wanted?
Step ScanCursor::take_row_before(Step step) {
  if (step == Step::end) return finish();
  const Bytes key = merge_.key();
  while (key < bounds_[range_].lower)
    if (++range_ == bounds_.size()) return finish();
  if (key >= bounds_[range_].upper) {
    if (slice_left_ <= 0) return yield_between(step);
    return seek(Aim::row_before, bounds_[range_].upper);
  }
  const size_t size = row_prefix_size(key);
  if (size == 0)
    return fail_with(
        Error(Errc::data_loss, fmt::format("'{}' is no entry key", escape_bytes(key))));
  row_prefix_.assign(key.substr(0, size));
  return seek(Aim::row_start, row_prefix_);
}

Step ScanCursor::enter_row() {
  const Bytes key = merge_.key();
  if (!judge_.begin_row(key, stamp_))
    return fail_with(
        Error(Errc::data_loss, fmt::format("'{}' is no entry key", escape_bytes(key))));
  row_prefix_.assign(judge_.row_prefix());
  row_open_ = true;
  row_gave_ = false;
  misses_ = 0;
  return Step::ready;
}

Step ScanCursor::take_entry(CellSink& sink) {
  ++entries_read_;
  --slice_left_;
  place_ = Place::in_row;
  const Fate fate = judge_.judge(merge_.key());
  if (fate == Fate::malformed)
    return fail_with(
        Error(Errc::data_loss, fmt::format("'{}' is no entry key", escape_bytes(merge_.key()))));
  if (judge_.kind() == EntryKind::cell) return take_cell(sink, fate);
  if (slice_left_ <= 0) {
    leave(ScanStep::yielded);
    return Step::ready;
  }
  return merge_.next();
}

Step ScanCursor::take_cell(CellSink& sink, Fate fate) {
  if (column_ != judge_.column_number()) {
    column_ = judge_.column_number();
    select_.begin_column();
    misses_ = 0;
  }
  const CellSelect::Verdict verdict = select_.look(judge_.timestamp_us());
  if (verdict == CellSelect::Verdict::take && fate == Fate::visible) {
    CellValue value;
    if (!parse_cell_value(merge_.value(), value))
      return fail_with(Error(Errc::data_loss, fmt::format("the value of '{}' is malformed",
                                                          escape_bytes(merge_.key()))));
    select_.took();
    row_gave_ = true;
    slice_left_ -= static_cast<int64_t>(value.value.size() / kValueBytesPerEntry);
    const CellView cell{judge_.row(), judge_.family(), judge_.qualifier(), judge_.timestamp_us(),
                        value.value};
    if (sink.cell(cell) == CellSink::Flow::pause) {
      leave(ScanStep::paused);
      return Step::ready;
    }
  }
  if (slice_left_ <= 0) {
    leave(ScanStep::yielded);
    return Step::ready;
  }
  if (verdict == CellSelect::Verdict::take) {
    misses_ = 0;
    return merge_.next();
  }
  if (++misses_ < kStepsBeforeSeek) return merge_.next();
  misses_ = 0;
  std::string target;
  select_.append_target(target, judge_.column_prefix(), verdict);
  return seek(Aim::entry, target);
}

Step ScanCursor::finish() {
  place_ = Place::finished;
  return Step::end;
}

Step ScanCursor::fail_with(Error error) {
  error_ = std::move(error);
  return Step::failed;
}

}  // namespace cellar::engine
