#include "engine/filter/cell_tests.h"

#include <xxhash.h>

#include "io/base/check.h"

namespace cellar::engine {
namespace {

using Node = CompiledFilter::Node;

bool in_bounds(const FilterNode& n, Bytes b) {
  if (n.has_start && (n.start_open ? b <= n.text : b < n.text)) return false;
  return !n.has_end || (n.end_closed ? b <= n.end_text : b < n.end_text);
}

bool in_time(const FilterNode& n, int64_t timestamp_us) {
  return (!n.has_start || timestamp_us >= n.start) && (!n.has_end || timestamp_us < n.end);
}

bool has_all_bits(Bytes value, Bytes mask) {
  if (value.size() != mask.size()) return false;
  for (size_t i = 0; i < mask.size(); ++i)
    if ((value[i] & mask[i]) != mask[i]) return false;
  return true;
}

}  // namespace

bool row_passes(const Node& node, uint64_t seed, Bytes row) {
  if (node.spec.kind == FilterKind::row_regex) return node.regex->matches(row);
  // The same for every cell of the row, and independent for every node.
  const uint64_t hash = XXH3_64bits_withSeed(row.data(), row.size(), seed + node.number);
  return static_cast<double>(hash >> 11) * 0x1.0p-53 < node.spec.sample;
}

bool CellTests::pass(size_t index, const FilterRow& row, const InputCell& cell, FilteredCell& item,
                     int64_t& budget) {
  const Node& node = nodes_[index];
  const FilterNode& n = node.spec;
  State& state = states_[index];
  --budget;
  const Bytes value = item.stripped ? Bytes() : cell.value;
  switch (n.kind) {
    case FilterKind::pass:
      return true;
    case FilterKind::block:
      return false;
    case FilterKind::row_regex:
    case FilterKind::row_sample:
      return judge_row(node, state, row);
    case FilterKind::family_regex:
    case FilterKind::qualifier_regex:
    case FilterKind::column_range:
      return judge_column(node, state, cell);
    case FilterKind::time_range:
      return in_time(n, cell.timestamp_us);
    case FilterKind::value_regex:
      budget -= value_cost(value.size());
      return node.regex->matches(value);
    case FilterKind::value_range:
      return in_bounds(n, value);
    case FilterKind::value_bitmask:
      return has_all_bits(value, n.text);
    case FilterKind::cells_per_row_offset:
    case FilterKind::cells_per_row: {
      if (state.row != row.number) state = {row.number, 0, 0, false};
      const bool below = state.count < static_cast<uint64_t>(n.start);
      state.count += below ? 1 : 0;
      return below == (n.kind == FilterKind::cells_per_row);
    }
    case FilterKind::cells_per_column:
      if (state.column != cell.column) state = {0, cell.column, 0, false};
      return state.count++ < static_cast<uint64_t>(n.start);
    case FilterKind::strip_value:
      item.stripped = true;
      return true;
    case FilterKind::label:
      item.label = node.label;
      return true;
    case FilterKind::sink:
    case FilterKind::chain:
    case FilterKind::interleave:
    case FilterKind::condition:
      break;
  }
  UNREACHABLE("a filter that branches judges no cell");
}

bool CellTests::exhausted(size_t index, const FilterRow& row) const {
  const State& state = states_[index];
  return nodes_[index].spec.kind == FilterKind::cells_per_row && state.row == row.number &&
         state.count >= static_cast<uint64_t>(nodes_[index].spec.start);
}

bool CellTests::judge_row(const Node& node, State& state, const FilterRow& row) const {
  if (state.row == row.number) return state.verdict;
  state = {row.number, 0, 0, row_passes(node, seed_, row.key)};
  return state.verdict;
}

bool CellTests::judge_column(const Node& node, State& state, const InputCell& cell) {
  if (state.column == cell.column) return state.verdict;
  const FilterNode& n = node.spec;
  state = {0, cell.column, 0, false};
  if (n.kind == FilterKind::column_range)
    state.verdict = cell.family == n.family && in_bounds(n, cell.qualifier);
  else
    state.verdict =
        node.regex->matches(n.kind == FilterKind::family_regex ? cell.family : cell.qualifier);
  return state.verdict;
}

}  // namespace cellar::engine
