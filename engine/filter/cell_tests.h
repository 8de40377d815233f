// CellTests: the filters that judge one cell at a time, with their state per row and column:
// counts, and verdicts for a whole row or column.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/filter/compiled_filter.h"

namespace cellar::engine {

// An input cell of the filter. Views.
struct InputCell {
  Bytes family;
  Bytes qualifier;
  int64_t timestamp_us = 0;
  Bytes value;
  uint64_t column = 0;             // incremented for every column
  const CellNote* note = nullptr;  // passed on with it
};

// A cell inside the filter: the index of its input cell, and its changes. One input cell may have
// several.
struct FilteredCell {
  uint32_t cell = 0;
  uint16_t label = 0;  // 0: none
  bool stripped = false;
};

// The row being filtered.
struct FilterRow {
  Bytes key;
  uint64_t number = 0;  // incremented for every row
};

// Cost of work on a value of that size, in entries of a slice.
constexpr int64_t value_cost(size_t bytes) { return static_cast<int64_t>(bytes / 128); }

class CellTests {
 public:
  // One state per node of `nodes`, which must outlive this.
  CellTests(const std::vector<CompiledFilter::Node>& nodes, uint64_t seed)
      : nodes_(nodes), states_(nodes.size()), seed_(seed) {}

  // Whether the cell passes node `index`, which is not a branching node; applies the node's changes
  // to `item` and takes the cost from `budget`. REQUIRES: rows and columns come in order.
  bool pass(size_t index, const FilterRow& row, const InputCell& cell, FilteredCell& item,
            int64_t& budget);
  // Whether a limit per row will reject all further cells of this row.
  bool exhausted(size_t index, const FilterRow& row) const;

 private:
  struct State {
    uint64_t row = 0;     // to which `count` and `verdict` apply
    uint64_t column = 0;  // the same for the column
    uint64_t count = 0;
    bool verdict = false;
  };

  bool judge_row(const CompiledFilter::Node& node, State& state, const FilterRow& row) const;
  static bool judge_column(const CompiledFilter::Node& node, State& state, const InputCell& cell);

  const std::vector<CompiledFilter::Node>& nodes_;
  std::vector<State> states_;
  uint64_t seed_;
};

// Whether the row passes a row_regex or row_sample.
bool row_passes(const CompiledFilter::Node& node, uint64_t seed, Bytes row);

}  // namespace cellar::engine
