// NamedColumns: the columns that a read names, one by one. Cells of others cannot change its
// answer, so tables that hold none of these need not be read (sstable/row_probe.h).
#pragma once

#include <compare>
#include <optional>
#include <string>
#include <vector>

#include "engine/model/filter_spec.h"

namespace cellar::engine {

struct ColumnName {
  std::string family;
  std::string qualifier;
  auto operator<=>(const ColumnName&) const = default;
};
// Sorted, each once.
using NamedColumns = std::vector<ColumnName>;

// Asking a filter for more of them is not worth it.
inline constexpr size_t kMostNamedColumns = 16;

// The columns of which alone the filter lets cells pass, whatever the others hold; none where it
// does not name them or names more than kMostNamedColumns. Named are: a column range of one column;
// a family and a qualifier as regular expressions without special characters but `|`; all branches
// of an interleave or a condition that name theirs. What follows a count over the row, or a branch
// that names nothing, names nothing.
std::optional<NamedColumns> named_columns(const FilterSpec& spec);

// Sorts, and lets go of doubles.
void normalize(NamedColumns& columns);

}  // namespace cellar::engine
