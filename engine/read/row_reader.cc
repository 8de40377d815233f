#include "engine/read/row_reader.h"

#include <algorithm>

#include "engine/iter/begins_with.h"
#include "engine/read/cell_select.h"

namespace cellar::engine {
bool RowReader::may_read(const ReadSpec& spec) {
  if (!is_read_of_one_row(spec)) return false;
  return !spec.filter || wanted_columns(spec).columns != nullptr;
}

RowReader::Outcome RowReader::read(const Request& request, CellSink& sink, RowStart& start) {
  start.stamp = request.stamp;
  start.now_us = std::max({request.now_us, static_cast<int64_t>(request.stamp.value() / 1000),
                           retention_.not_before_us()});
  start.cells = 0;
  const Bytes row = request.spec.rows.ranges().front().start;
  if (is_row_covered(request.sources, row, request.stamp)) return Outcome::handed_over;
  const NewestRead::Outcome newest = find_newest(request, start);
  if (newest == NewestRead::Outcome::done) return give_newest(request, sink, start.cells);
  newest_.clear();
  if (request.spec.filter || newest == NewestRead::Outcome::blocked) return Outcome::handed_over;
  set_row_bounds(row, lower_, upper_);
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

// Unfit: it does not suit the read, either.
NewestRead::Outcome RowReader::find_newest(const Request& request, const RowStart& start) {
  const WantedColumns wanted = wanted_columns(request.spec);
  const NamedColumns* columns = wanted.columns;
  StopRecord* stops = wanted.every_column ? request.stops : nullptr;
  if (wanted.every_column && (stops == nullptr || stops->is_worth_trying()))
    columns = columns_.of(request.sources);
  if (columns == nullptr) return NewestRead::Outcome::unfit;
  const NewestRead::Outcome outcome = newest_.run({.columns = *columns,
                                                   .every_column = wanted.every_column,
                                                   .versions = wanted.versions,
                                                   .sources = request.sources,
                                                   .row = request.spec.rows.ranges().front().start,
                                                   .stamp = start.stamp,
                                                   .now_us = start.now_us});
  if (stops != nullptr && outcome != NewestRead::Outcome::blocked)
    stops->note(outcome == NewestRead::Outcome::done && newest_.stopped());
  return outcome;
}

RowReader::Outcome RowReader::give_newest(const Request& request, CellSink& sink, uint64_t& cells) {
  Outcome outcome = Outcome::done;
  for (size_t i = 0; outcome == Outcome::done && i < newest_.cells(); ++i) {
    const bool pause = sink.cell(newest_.cell(i)) == CellSink::Flow::pause;
    ++cells;
    if (pause && cells < newest_.cells()) outcome = Outcome::paused;
  }
  if (outcome == Outcome::done && cells != 0)
    sink.end_row(request.spec.rows.ranges().front().start);
  if (request.alive_until_us != nullptr)
    *request.alive_until_us = std::min(*request.alive_until_us, newest_.alive_until_us());
  newest_.clear();
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
        if (request.alive_until_us != nullptr)
          *request.alive_until_us = std::min(*request.alive_until_us, judge_.alive_until_us());
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
