// CellTests: the filters that look at one cell at a time, with what they remember of the row and
// the column: counts, and verdicts that hold for all of it.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/filter/compiled_filter.h"

namespace cellar::engine {

// A cell as it reaches the filter. Views.
struct InputCell {
  Bytes family;
  Bytes qualifier;
  int64_t timestamp_us = 0;
  Bytes value;
  uint64_t column = 0;             // rises with every column
  const CellNote* note = nullptr;  // goes with it
};

// A cell on its way through the filter: which of the input, and what was done to it. There may be
// several of one input cell.
struct FilteredCell {
  uint32_t cell = 0;
  uint16_t label = 0;  // 0: none
  bool stripped = false;
};

// The row that is being filtered.
struct FilterRow {
  Bytes key;
  uint64_t number = 0;  // rises with every row
};

// What a slice pays for work on a value of so many bytes, in entries looked at.
constexpr int64_t value_cost(size_t bytes) { return static_cast<int64_t>(bytes / 128); }

class CellTests {
 public:
  // Of as many nodes as `nodes`, which outlives this.
  CellTests(const std::vector<CompiledFilter::Node>& nodes, uint64_t seed)
      : nodes_(nodes), states_(nodes.size()), seed_(seed) {}

  // Whether the cell passes node `index`, which is none that branches; changes `item` as the node
  // says, and takes the cost from `budget`. REQUIRES: rows and columns come in order.
  bool pass(size_t index, const FilterRow& row, const InputCell& cell, FilteredCell& item,
            int64_t& budget);
  // A limit per row that no further cell of this row will pass.
  bool exhausted(size_t index, const FilterRow& row) const;

 private:
  struct State {
    uint64_t row = 0;     // that `count` and `verdict` are about
    uint64_t column = 0;  // and of the column's
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
