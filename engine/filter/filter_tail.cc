#include "engine/filter/filter_tail.h"

#include <algorithm>
#include <functional>

#include "io/base/check.h"

namespace cellar::engine {

void ListMerge::start(std::span<const CellList* const> lists) {
  lists_.assign(lists.begin(), lists.end());
  at_.assign(lists.size(), 0);
  heap_.clear();
  for (uint32_t i = 0; i < lists.size(); ++i)
    if (!lists[i]->empty()) heap_.push_back({lists[i]->front().cell, i});
  std::make_heap(heap_.begin(), heap_.end(), std::greater<>());
}

void ListMerge::next() {
  const uint32_t list = heap_.front().list;
  const CellList& from = *lists_[list];
  if (++at_[list] == from.size()) {
    std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
    heap_.pop_back();
    return;
  }
  if (heap_.size() == 1) {
    heap_.front().cell = from[at_[list]].cell;
    return;
  }
  std::pop_heap(heap_.begin(), heap_.end(), std::greater<>());
  heap_.back() = {from[at_[list]].cell, list};
  std::push_heap(heap_.begin(), heap_.end(), std::greater<>());
}

FilterTail::FilterTail(const CompiledFilter& filter, size_t max_bytes)
    : nodes_(filter.tail()), tests_(filter.tail(), filter.seed()), max_bytes_(max_bytes) {}

void FilterTail::start(const FilterRow& row, std::span<const InputCell> cells,
                       const CellList& input) {
  row_ = row;
  cells_ = cells;
  drop(result_);
  for (size_t i = 0; i < sink_count_; ++i) drop(sinks_[i]);
  sink_count_ = 0;
  has_result_ = false;
  depth_ = 0;
  push(0, &input);
}

FilterTail::Progress FilterTail::run(int64_t& budget) {
  while (depth_ > 0) {
    if (held_ > max_bytes_) return Progress::too_large;
    if (budget <= 0) return Progress::yielded;
    step(frames_[depth_ - 1], budget);
  }
  finish();
  return Progress::done;
}

// Merges the sinks' lists in tree order with the root's output.
void FilterTail::finish() {
  merged_.clear();
  for (size_t i = 0; i < sink_count_; ++i) merged_.push_back(&sinks_[i]);
  merged_.push_back(&result_);
  answer_.start(merged_);
}

void FilterTail::push(uint32_t node, const CellList* in) {
  CHECK(depth_ < frames_.size(), "a filter deeper than was checked");
  Frame& f = frames_[depth_++];
  f.node = node;
  f.child = node + 1;
  f.in = in;
  f.at = 0;
  f.judged = f.merging = false;
  f.run_count = 0;
}

// Every step makes progress, whatever is left of the budget: a leaf and a merge by at least one
// cell.
void FilterTail::step(Frame& f, int64_t& budget) {
  switch (spec(f).kind) {
    case FilterKind::chain:
      step_chain(f);
      break;
    case FilterKind::interleave:
      step_interleave(f, budget);
      break;
    case FilterKind::condition:
      step_condition(f);
      break;
    default:
      step_leaf(f, budget);
  }
  --budget;
}

void FilterTail::step_leaf(Frame& f, int64_t& budget) {
  const CellList& in = *f.in;
  if (spec(f).kind == FilterKind::sink) {
    if (f.at == 0 && !in.empty() && sink_count_++ == sinks_.size()) sinks_.emplace_back();
    for (; f.at < in.size() && budget > 0; --budget) put(sinks_[sink_count_ - 1], in[f.at++]);
  } else {
    for (; f.at < in.size() && budget > 0 && held_ <= max_bytes_; ++f.at) {
      FilteredCell item = in[f.at];
      if (tests_.pass(f.node, row_, cells_[item.cell], item, budget)) put(f.out, item);
    }
  }
  if (f.at == in.size()) answer_with(f);
}

void FilterTail::step_chain(Frame& f) {
  if (has_result_) {
    take_result(f.own);
    f.in = &f.own;
  }
  if (f.child != nodes_[f.node].end && !f.in->empty()) {
    const uint32_t child = f.child;
    f.child = nodes_[child].end;
    return push(child, f.in);
  }
  std::swap(f.out, f.own);
  answer_with(f);
}

void FilterTail::step_interleave(Frame& f, int64_t& budget) {
  if (has_result_) {
    if (f.run_count == f.runs.size()) f.runs.emplace_back();
    take_result(f.runs[f.run_count]);
    if (!f.runs[f.run_count].empty()) ++f.run_count;
  }
  if (f.child != nodes_[f.node].end && !f.in->empty()) {
    const uint32_t child = f.child;
    f.child = nodes_[child].end;
    return push(child, f.in);
  }
  if (!f.merging) {
    merged_.clear();
    for (size_t i = 0; i < f.run_count; ++i) merged_.push_back(&f.runs[i]);
    merge_.start(merged_);
    f.merging = true;
  }
  for (; !merge_.done() && budget > 0 && held_ <= max_bytes_; --budget, merge_.next())
    put(f.out, merge_.top());
  if (!merge_.done()) return;
  for (size_t i = 0; i < f.run_count; ++i) drop(f.runs[i]);
  answer_with(f);
}

void FilterTail::step_condition(Frame& f) {
  if (f.in->empty()) return answer_with(f);
  const FilterNode& n = spec(f);
  const uint32_t predicate = f.node + 1;
  if (!has_result_) return push(predicate, f.in);
  if (f.judged) {
    take_result(f.out);
    return answer_with(f);
  }
  f.judged = true;
  take_result(f.own);
  const bool met = !f.own.empty();
  drop(f.own);
  const uint32_t first = nodes_[predicate].end;
  if (met ? !n.has_then : !n.has_else) return answer_with(f);
  push(met || !n.has_then ? first : nodes_[first].end, f.in);
}

// Leaves the frame; its parent finds f.out in result_.
void FilterTail::answer_with(Frame& f) {
  drop(result_);
  std::swap(result_, f.out);
  drop(f.own);
  has_result_ = --depth_ > 0;
}

void FilterTail::take_result(CellList& into) {
  drop(into);
  std::swap(into, result_);
  has_result_ = false;
}

void FilterTail::put(CellList& list, FilteredCell item) {
  list.push_back(item);
  held_ += sizeof(FilteredCell);
}

void FilterTail::drop(CellList& list) {
  held_ -= list.size() * sizeof(FilteredCell);
  list.clear();
  if (list.capacity() > kKeepCells) list.shrink_to_fit();
}

}  // namespace cellar::engine
