// The result of a filter on a row, directly by SEMANTICS 6 and the table of the acceptance cases:
// every filter takes the list of the row's cells and gives a list. It shares no code with
// engine/filter, and its regular expressions are those of the standard library. Simple rather than
// fast.
#pragma once

#include <string>
#include <vector>

#include "engine/model/filter_spec.h"
#include "io/base/random.h"
#include "tests/support/row_model.h"

namespace cellar::support {

// `row`: the live cells of one row, in order. REQUIRES: no row samples.
std::vector<OwnedCell> filter_row(const FilterSpec& spec, const std::vector<OwnedCell>& row);

// The same for every row of an answer; then the row limit (0: none).
std::vector<OwnedCell> filter_rows(const FilterSpec& spec, const std::vector<OwnedCell>& cells,
                                   uint64_t row_limit);

// ---- building ----
FilterNode filter_leaf(FilterKind kind, std::string text = {}, int64_t count = 0);
FilterSpec filter_tree(FilterKind kind, const std::vector<FilterSpec>& children);
FilterSpec filter_of(FilterNode node);
FilterSpec filter_condition(const FilterSpec& predicate, const FilterSpec* then,
                            const FilterSpec* otherwise);

// A valid tree of at most this many levels, without row samples. Names and values of TabletBed.
FilterSpec random_filter(Random& random, size_t levels);

// For failure messages.
std::string to_text(const FilterSpec& spec);

}  // namespace cellar::support
