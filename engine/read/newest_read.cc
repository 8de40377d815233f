#include "engine/read/newest_read.h"

#include <algorithm>
#include <utility>

#include "engine/filter/compiled_filter.h"
#include "engine/iter/begins_with.h"

namespace cellar::engine {

bool is_one_row(const RowSet& rows) {
  if (rows.ranges().size() != 1) return false;
  const Bytes row = rows.ranges().front().start;
  const Bytes end = rows.ranges().front().end;
  return end.size() == row.size() + 1 && end.back() == '\0' && end.starts_with(row);
}

bool is_read_of_one_row(const ReadSpec& spec) {
  return !spec.with_expiry && !spec.explain && !spec.include_dead && is_one_row(spec.rows);
}

void set_row_bounds(Bytes row, std::string& lower, std::string& upper) {
  lower.clear();
  append_row_prefix(lower, row);
  // `row 00` is written `row 00 FF 00 01`.
  upper.assign(lower, 0, lower.size() - 2);
  upper.append("\0\xff\0\1", 4);
}

bool is_row_covered(const ReadSources& sources, Bytes row, CommitStamp stamp) {
  for (const auto& source : sources) {
    for (const RangeTombstone& range : source->range_deletes()) {
      if (range.stamp <= stamp && range.covers(row)) return true;
    }
  }
  return false;
}

WantedColumns wanted_columns(const ReadSpec& spec, const NamedColumns* only) {
  const TimeRange& times = spec.time_range;
  if (times.start_us > 0 || times.end_us != kMaxTimestampUs) return {};
  if (!spec.filter) return {only, spec.versions, only == nullptr};
  const std::optional<NewestOf>& newest = spec.filter->newest();
  if (!newest) return {};
  const bool both = spec.versions != 0 && newest->versions != 0;
  return {
      &newest->columns,
      both ? std::min(spec.versions, newest->versions) : std::max(spec.versions, newest->versions),
      false};
}

NewestRead::Outcome NewestRead::run(const Request& request) {
  clear();
  wanted_ = &request.columns;
  versions_ = request.versions;
  sources_ = &request.sources;
  row_ = request.row;
  stamp_ = request.stamp;
  now_us_ = request.now_us;
  must_fit_ = request.must_fit;
  set_row_bounds(row_, lower_, upper_);
  const NamedColumns& columns = *wanted_;
  prefixes_.resize(columns.size());
  family_starts_.resize(columns.size());
  probe_.aim(lower_);
  for (size_t i = 0; i < columns.size(); ++i) {
    prefixes_[i].clear();
    append_column_prefix(prefixes_[i], row_, columns[i].family, columns[i].qualifier);
    family_starts_[i].clear();
    append_family_start(family_starts_[i], lower_, columns[i].family);
    // Filters are asked about the row alone if the columns are all that there are.
    if (!request.every_column) probe_.add_column(columns[i].family, columns[i].qualifier);
  }
  scope_ = {};
  scope_.lower = lower_;
  scope_.upper = upper_;
  scope_.probe = &probe_;
  scope_.newer_cells_count = retention_.any_counts();
  // The end of a row that ends with its block is then known without another block.
  window_.set(upper_, nullptr);
  scope_.window = &window_;
  return open_more();
}

void NewestRead::close() {
  if (merge_.sources() != 0) merge_.clear();
  iterators_.clear();
  opened_.clear();
  at_ = blocked_ = opening_ = nullptr;
}

void NewestRead::clear() {
  close();
  cells_.clear();
  values_.clear();
  next_ = 0;
  enough_ = 1;
  waits_ = 0;
  entries_ = 0;
  runs_opened_ = 0;
}

NewestRead::Outcome NewestRead::wait_for(EntryIterator& it) {
  if (++waits_ > kMostWaits && !must_fit_) return Outcome::unfit;
  blocked_ = &it;
  return Outcome::blocked;
}

NewestRead::Outcome NewestRead::resume() {
  EntryIterator& it = *std::exchange(blocked_, nullptr);
  const Step step = it.resume();
  if (step == Step::blocked) return wait_for(it);
  if (step == Step::failed) return Outcome::unfit;
  // An evaluation begins again: most of its blocks are in memory.
  if (opening_ == nullptr) return settle();
  take_opened(step);
  return open_more();
}

// Opens sources until there are enough to evaluate.
NewestRead::Outcome NewestRead::open_more() {
  while (next_ < sources_->size() && opened_.size() < enough_) {
    const ReadSource& source = *(*sources_)[next_++];
    opening_ = source.open(scope_, iterators_);
    if (opening_ == nullptr) continue;
    if (source.is_run()) ++runs_opened_;
    const Step step = opening_->seek(lower_);
    if (step == Step::blocked) return wait_for(*opening_);
    if (step == Step::failed) return Outcome::unfit;
    take_opened(step);
  }
  return settle();
}

void NewestRead::take_opened(Step step) {
  EntryIterator* it = std::exchange(opening_, nullptr);
  if (step == Step::ready && begins_with(it->key(), lower_)) opened_.push_back(it);
}

// Evaluates what is open, and opens twice as many sources while that is not enough.
NewestRead::Outcome NewestRead::settle() {
  const Outcome outcome = evaluate();
  if (outcome != Outcome::done || rest_may_stay_closed()) return outcome;
  enough_ = 2 * std::max<size_t>(opened_.size(), 1);
  return open_more();
}

bool NewestRead::may_have(const SourceBounds& bounds, size_t number) const {
  if (bounds.columns == nullptr || !bounds.columns->known()) return true;
  return bounds.columns->has(Bytes(prefixes_[number]).substr(lower_.size()));
}

bool NewestRead::rest_may_stay_closed() const {
  for (size_t i = next_; i < sources_->size(); ++i) {
    const SourceBounds bounds = (*sources_)[i]->bounds();
    if (!bounds.known) return false;
    const bool older = bounds.max_stamp < least_stamp_;
    for (size_t k = 0; k < columns_.size(); ++k) {
      const Column& column = columns_[k];
      if (bounds.max_stamp < column.covered_below) continue;
      const bool settled = column.complete && bounds.max_timestamp_us <= column.last_us;
      if (!older || (!settled && may_have(bounds, k))) return false;
    }
  }
  return true;
}

// ---- evaluation

NewestRead::Outcome NewestRead::evaluate() {
  cells_.clear();
  values_.clear();
  columns_.assign(wanted_->size(), {});
  least_stamp_ = kMaxStamp;
  alive_until_us_ = INT64_MAX;
  left_ = must_fit_ ? INT64_MAX : kMostEntries;
  if (opened_.empty()) return Outcome::done;
  if (merge_.sources() != 0) merge_.clear();
  at_ = opened_.front();
  if (opened_.size() > 1) {
    for (EntryIterator* it : opened_) merge_.add_borrowed(*it);
    at_ = &merge_;
  }
  judged_ = false;
  Step step = at_->seek(lower_);
  if (step == Step::ready && !judge_.begin_row(lower_, stamp_, now_us_)) return Outcome::unfit;
  step = judge_row(step);
  for (size_t i = 0; i < columns_.size(); ++i) {
    step = judge_markers(i, step);
    step = judge_column(i, step);
  }
  if (step == Step::blocked) return wait_for(*at_);
  return step != Step::failed && left_ > 0 ? Outcome::done : Outcome::unfit;
}

bool NewestRead::at_row(Step step) const {
  return step == Step::ready && left_ > 0 && begins_with(at_->key(), lower_);
}

// The state of the present entry, which is judged once.
CellState NewestRead::judge() {
  if (!judged_) fate_ = judge_.judge(at_->key(), at_->value());
  judged_ = true;
  return fate_;
}

Step NewestRead::next() {
  --left_;
  ++entries_;
  judged_ = false;
  return at_->next();
}

// The first entry at or after `target`.
Step NewestRead::forward(Bytes target, Step step) {
  for (int i = 0; i < kStepsBeforeSeek && at_row(step); ++i) {
    if (at_->key() >= target) return step;
    step = next();
  }
  if (!at_row(step) || at_->key() >= target) return step;
  --left_;
  judged_ = false;
  return at_ == &merge_ ? merge_.advance_to(target) : at_->seek(target);
}

// The deletes of the whole row are its first entries.
Step NewestRead::judge_row(Step step) {
  CommitStamp covered_below;
  while (at_row(step)) {
    const CellState fate = judge();
    if (fate == CellState::malformed) return Step::failed;
    if (judge_.kind() != EntryKind::row_delete) break;
    covered_below = judge_.row_below();
    step = next();
  }
  for (Column& column : columns_) column.covered_below = covered_below;
  return step;
}

// The deletes of the family are its first entries. Stops at the column's first entry.
Step NewestRead::judge_markers(size_t number, Step step) {
  const bool another = number == 0 || family_starts_[number] != family_starts_[number - 1];
  if (another) family_covered_below_ = columns_[number].covered_below;
  step = forward(family_starts_[number], step);
  while (at_row(step) && at_->key() < prefixes_[number]) {
    const CellState fate = judge();
    if (fate == CellState::malformed) return Step::failed;
    if (judge_.kind() != EntryKind::family_delete) return forward(prefixes_[number], step);
    family_covered_below_ = judge_.family_below();
    step = next();
  }
  return step;
}

Step NewestRead::judge_column(size_t number, Step step) {
  Column& column = columns_[number];
  const Bytes prefix = prefixes_[number];
  column.covered_below = std::max(column.covered_below, family_covered_below_);
  while (at_row(step) && begins_with(at_->key(), prefix)) {
    const CellState fate = judge();
    if (fate == CellState::malformed) return Step::failed;
    column.covered_below = std::max(column.covered_below, judge_.column_below());
    if (judge_.kind() == EntryKind::cell && fate != CellState::unseen) {
      column.last_us = judge_.timestamp_us();
      least_stamp_ = std::min(least_stamp_, judge_.stamp());
      if (fate == CellState::visible) take(number);
      const bool all_taken = versions_ != 0 && column.taken == versions_;
      column.complete = all_taken || judge_.column_is_full();
      if (column.complete) return step;
    }
    step = next();
  }
  return step;
}

void NewestRead::take(size_t number) {
  ++columns_[number].taken;
  const Bytes value = judge_.value().value;
  if (!must_fit_ && values_.size() + value.size() > kMostBytes) {
    left_ = 0;  // to copy more is not worth it
    return;
  }
  alive_until_us_ = std::min(alive_until_us_, judge_.alive_until_us());
  cells_.push_back({number, judge_.timestamp_us(), values_.size(), value.size()});
  values_.append(value);
}

CellView NewestRead::cell(size_t i) const {
  const Cell& cell = cells_[i];
  const ColumnName& column = (*wanted_)[cell.column];
  return {row_, column.family, column.qualifier, cell.timestamp_us,
          Bytes(values_).substr(cell.at, cell.bytes)};
}

}  // namespace cellar::engine
