// What a filter makes of a row, by the letter of SEMANTICS 6 and the table of the acceptance cases:
// every filter takes the list of the row's cells and gives a list. It shares no code with
// engine/filter, and its regular expressions are the standard library's. Slow on purpose.
#pragma once

#include <string>
#include <vector>

#include "engine/model/filter_spec.h"
#include "io/base/random.h"
#include "tests/support/row_model.h"

namespace cellar::support {

// `row`: the living cells of one row, in order. REQUIRES: no row samples.
std::vector<OwnedCell> filter_row(const FilterSpec& spec, const std::vector<OwnedCell>& row);

// The same for every row of a whole answer; then the row limit (0: none).
std::vector<OwnedCell> filter_rows(const FilterSpec& spec, const std::vector<OwnedCell>& cells,
                                   uint64_t row_limit);

// ---- building ----
FilterNode filter_leaf(FilterKind kind, std::string text = {}, int64_t count = 0);
FilterSpec filter_tree(FilterKind kind, const std::vector<FilterSpec>& children);
FilterSpec filter_of(FilterNode node);
FilterSpec filter_condition(const FilterSpec& predicate, const FilterSpec* then,
                            const FilterSpec* otherwise);

// A valid tree of at most so many levels, without row samples. Names and values of TabletBed.
FilterSpec random_filter(Random& random, size_t levels);

// For a person who reads a failure.
std::string to_text(const FilterSpec& spec);

}  // namespace cellar::support
