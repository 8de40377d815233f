#include "engine/filter/row_filter.h"

#include <algorithm>

#include "io/base/check.h"

namespace cellar::engine {

RowFilter::RowFilter(std::shared_ptr<const CompiledFilter> filter, size_t max_row_bytes)
    : filter_(std::move(filter)),
      max_row_bytes_(max_row_bytes),
      head_(filter_->head(), filter_->seed()) {
  if (!filter_->tail().empty()) tail_.emplace(*filter_, max_row_bytes);
}

bool RowFilter::begin_row(Bytes row) {
  row_key_.assign(row);
  row_ = {row_key_, row_.number + 1};
  gave_ = false;
  forget_row();
  const auto& gate = filter_->row_gate();
  over_ = !std::all_of(gate.begin(), gate.end(), [&](const CompiledFilter::Node& node) {
    return row_passes(node, filter_->seed(), row);
  });
  return !over_;
}

ColumnVerdict RowFilter::begin_column(Bytes family, Bytes qualifier) {
  ++column_;
  const CompiledFilter& f = *filter_;
  if (over_) return ColumnVerdict::skip_row;
  if (f.has_range()) {
    if (f.in_one_family()) {
      if (family < f.range_family()) return ColumnVerdict::skip_to_family;
      if (family > f.range_family() || !f.in_range_end(qualifier)) return ColumnVerdict::skip_row;
    } else if (!f.in_range_end(qualifier)) {
      return ColumnVerdict::skip_family;
    }
    if (qualifier < f.range_start()) return ColumnVerdict::skip_to_start;
  }
  if (!f.has_column_gate()) return ColumnVerdict::take;
  if (!family_known_ || family_ != family) {
    family_.assign(family);
    family_known_ = true;
    family_passes_ = true;
    for (const auto& node : f.column_gate())
      if (node.spec.kind == FilterKind::family_regex) family_passes_ &= node.regex->matches(family);
  }
  if (!family_passes_) return ColumnVerdict::skip_family;
  for (const auto& node : f.column_gate())
    if (node.spec.kind == FilterKind::qualifier_regex && !node.regex->matches(qualifier))
      return ColumnVerdict::skip_column;
  return ColumnVerdict::take;
}

FilterStep RowFilter::cell(const CellView& view, CellSink& out, int64_t& budget) {
  const InputCell cell{view.family, view.qualifier, view.timestamp_us,
                       view.value,  column_,        view.note};
  FilteredCell item;
  if (!pass_head(cell, item, budget)) return FilterStep::done;
  if (!tail_) {
    give(cell, item, out);
    return FilterStep::done;
  }
  if (filter_->needs_row()) {
    budget -= value_cost(cell.value.size());
    return keep(cell, item) ? FilterStep::done : too_large();
  }
  cells_.assign(1, cell);
  items_.assign(1, item);
  return begin_tail(out, budget);
}

FilterStep RowFilter::end_row(CellSink& out, int64_t& budget) {
  if (items_.empty() || !filter_->needs_row()) return FilterStep::done;
  for (size_t i = 0; i < notes_.size(); ++i) cells_[i].note = &notes_[i];
  return begin_tail(out, budget);
}

FilterStep RowFilter::begin_tail(CellSink& out, int64_t& budget) {
  tail_->start(row_, cells_, items_);
  phase_ = Phase::tail;
  return go_on(out, budget);
}

FilterStep RowFilter::go_on(CellSink& out, int64_t& budget) {
  const int64_t portion = std::min(budget, kPortion);
  int64_t left = portion;
  const FilterStep step = work(out, left);
  budget -= portion - left;
  return step;
}

FilterStep RowFilter::work(CellSink& out, int64_t& budget) {
  if (phase_ == Phase::tail) {
    switch (tail_->run(budget)) {
      case FilterTail::Progress::yielded:
        return FilterStep::yielded;
      case FilterTail::Progress::too_large:
        return too_large();
      case FilterTail::Progress::done:
        phase_ = Phase::answer;
    }
  }
  if (phase_ == Phase::answer) {
    ListMerge& answer = tail_->answer();
    while (!answer.done()) {
      if (take_pause()) return FilterStep::paused;
      if (budget <= 0) return FilterStep::yielded;
      const FilteredCell item = answer.top();
      answer.next();
      const InputCell& cell = cells_[item.cell];
      budget -= 1 + value_cost(cell.value.size());
      give(cell, item, out);
    }
    forget_row();
  }
  return FilterStep::done;
}

bool RowFilter::pass_head(const InputCell& cell, FilteredCell& item, int64_t& budget) {
  const size_t stages = filter_->head().size();
  for (size_t i = 0; i < stages; ++i) {
    if (!head_.pass(i, row_, cell, item, budget)) {
      over_ = over_ || head_.exhausted(i, row_);
      return false;
    }
  }
  return true;
}

// Copies what is needed at the end of the row. False if it is too much.
bool RowFilter::keep(const InputCell& cell, FilteredCell item) {
  if (!copies_) copies_ = std::make_unique<Arena>();
  InputCell copy = cell;
  if (cells_.empty() || kept_column_ != cell.column) {
    copy.family = copies_->copy(cell.family);
    copy.qualifier = copies_->copy(cell.qualifier);
    kept_bytes_ += cell.family.size() + cell.qualifier.size();
    kept_column_ = cell.column;
  } else {
    copy.family = cells_.back().family;
    copy.qualifier = cells_.back().qualifier;
  }
  copy.value = item.stripped ? Bytes() : copies_->copy(cell.value);
  if (cell.note != nullptr) {
    notes_.push_back(*cell.note);
    kept_bytes_ += sizeof(CellNote);
  }
  item.cell = static_cast<uint32_t>(cells_.size());
  cells_.push_back(copy);
  items_.push_back(item);
  kept_bytes_ += copy.value.size() + sizeof(InputCell) + sizeof(FilteredCell);
  return kept_bytes_ <= max_row_bytes_;
}

void RowFilter::give(const InputCell& cell, const FilteredCell& item, CellSink& out) {
  gave_ = true;
  CellView view;
  view.row = row_key_;
  view.family = cell.family;
  view.qualifier = cell.qualifier;
  view.timestamp_us = cell.timestamp_us;
  if (!item.stripped) view.value = cell.value;
  view.note = cell.note;
  if (item.label != 0) view.label = filter_->label(item.label);
  pause_asked_ = out.cell(view) == CellSink::Flow::pause;
}

FilterStep RowFilter::too_large() {
  error_ = Error(Errc::failed_precondition,
                 fmt::format("filtering row '{}' needs more than {} bytes of memory",
                             escape_bytes(row_key_), max_row_bytes_));
  forget_row();
  return FilterStep::failed;
}

void RowFilter::forget_row() {
  constexpr size_t kKeepCells = 4096;
  phase_ = Phase::idle;
  cells_.clear();
  items_.clear();
  if (cells_.capacity() > kKeepCells) cells_.shrink_to_fit();
  if (items_.capacity() > kKeepCells) items_.shrink_to_fit();
  copies_.reset();
  notes_.clear();
  kept_bytes_ = 0;
}

}  // namespace cellar::engine
