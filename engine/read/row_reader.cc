#include "engine/read/row_reader.h"

#include <algorithm>

#include "engine/iter/begins_with.h"
#include "engine/read/cell_select.h"

namespace cellar::engine {
namespace {

bool is_one_row(const KeyRange& range) {
  const Bytes row = range.start;
  const Bytes end = range.end;
  return end.size() == row.size() + 1 && end.back() == '\0' && end.starts_with(row);
}

bool is_covered(const ReadSources& sources, Bytes row) {
  for (const auto& source : sources)
    for (const RangeTombstone& range : source->range_deletes())
      if (range.covers(row)) return true;
  return false;
}

}  // namespace

bool RowReader::may_read(const ReadSpec& spec) {
  return spec.rows.ranges().size() == 1 && !spec.filter && !spec.with_expiry && !spec.explain &&
         !spec.include_dead && is_one_row(spec.rows.ranges().front());
}

void RowReader::aim(Bytes row) {
  lower_.clear();
  append_row_prefix(lower_, row);
  // `row 00` is written `row 00 FF 00 01`.
  upper_.assign(lower_, 0, lower_.size() - 2);
  upper_.append("\0\xff\0\1", 4);
}

RowReader::Outcome RowReader::read(const Request& request, CellSink& sink, RowStart& start) {
  start.stamp = request.stamp;
  start.now_us = std::max({request.now_us, static_cast<int64_t>(request.stamp.value() / 1000),
                           retention_.not_before_us()});
  start.cells = 0;
  const Bytes row = request.spec.rows.ranges().front().start;
  if (is_covered(request.sources, row)) return Outcome::handed_over;
  aim(row);
  Outcome outcome = Outcome::done;
  const Found found = find(request);
  if (found == Found::unknown) outcome = Outcome::handed_over;
  if (found == Found::row) {
    judge_.begin_row(lower_, start.stamp, start.now_us);
    outcome = give(request, sink, start.cells);
  }
  if (merge_.sources() != 0) merge_.clear();
  iterators_.clear();
  return outcome;
}

// Finds the sources with the row; at_ is then at its first entry.
RowReader::Found RowReader::find(const Request& request) {
  ReadScope scope;
  scope.lower = lower_;
  scope.upper = upper_;
  probe_.aim(lower_);
  scope.probe = &probe_;
  scope.time_range = request.spec.time_range;
  scope.newer_cells_count = retention_.any_counts();
  // The end of a row that ends with its block is then known without another block.
  window_.set(upper_, nullptr);
  scope.window = &window_;
  at_ = nullptr;
  for (const auto& source : request.sources) {
    EntryIterator* it = source->open(scope, iterators_);
    if (it == nullptr) continue;
    const Step step = it->seek(lower_);
    if (step == Step::end) continue;
    if (step != Step::ready) return Found::unknown;
    if (!begins_with(it->key(), lower_)) continue;
    if (at_ != nullptr) {
      if (at_ != &merge_) merge_.add_borrowed(*at_);
      merge_.add_borrowed(*it);
      at_ = &merge_;
    } else {
      at_ = it;
    }
  }
  if (at_ == nullptr) return Found::nothing;
  if (at_ == &merge_ && merge_.seek(lower_) != Step::ready) return Found::unknown;
  return Found::row;
}

// `cells`: number of cells passed to the sink.
RowReader::Outcome RowReader::give(const Request& request, CellSink& sink, uint64_t& cells) {
  CellSelect select(request.spec.time_range, request.spec.versions);
  const bool all = select.takes_all();
  uint64_t column = judge_.column_number();
  int64_t left = kMostEntries;
  uint32_t unwanted = 0;
  for (bool pause = false;;) {
    const CellState fate = judge_.judge(at_->key(), at_->value());
    if (fate == CellState::malformed) return Outcome::handed_over;
    if (fate == CellState::token) break;  // only tokens follow
    if (judge_.kind() == EntryKind::cell) {
      if (column != judge_.column_number()) {
        column = judge_.column_number();
        select.begin_column();
        unwanted = 0;
      }
      const bool wanted = all || select.look(judge_.timestamp_us()) == CellSelect::Verdict::take;
      if (wanted && fate == CellState::visible) {
        const CellView cell{judge_.row(), judge_.family(), judge_.qualifier(),
                            judge_.timestamp_us(), judge_.value().value};
        select.took();
        ++cells;
        left -= static_cast<int64_t>(cell.value.size() / kValueBytesPerEntry);
        pause |= sink.cell(cell) == CellSink::Flow::pause;
        unwanted = 0;
      }
      if ((!wanted || judge_.column_is_full()) && ++unwanted > kMostUnwanted)
        return Outcome::handed_over;
    }
    const Step step = at_->next();
    if (step == Step::end || (step == Step::ready && !judge_.in_row(at_->key()))) break;
    if (pause) return Outcome::paused;
    if (step != Step::ready || --left <= 0) return Outcome::handed_over;
  }
  // It was the last row of the result, so a pause is the same as the end.
  if (cells != 0) sink.end_row(judge_.row());
  return Outcome::done;
}

}  // namespace cellar::engine
