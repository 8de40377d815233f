// NamedColumns: the columns that a read names individually. Cells of others cannot change its
// result, so tables without them need not be read (sstable/wanted_entries.h).
#pragma once

#include <compare>
#include <cstdint>
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
// Sorted and unique.
using NamedColumns = std::vector<ColumnName>;

// Querying a table's filter for more columns does not pay.
inline constexpr size_t kMostNamedColumns = 16;

// The only columns of which the filter passes cells, whatever the others hold; empty if it does not
// name them or names more than kMostNamedColumns. Named are: a column range of one column; a family
// and a qualifier as regular expressions of literals separated by `|` (literal_of()); all branches
// of an interleave or a condition that name theirs. Stages after a count over the row, or after a
// branch without names, name nothing.
std::optional<NamedColumns> named_columns(const FilterSpec& spec);

// The only text that the regular expression matches, if it has no special characters; those after a
// backslash are none.
std::optional<std::string> literal_of(const std::string& regex);

// A read of the newest `versions` of each of these columns and of nothing else.
struct NewestOf {
  NamedColumns columns;
  uint32_t versions = 0;  // 0: all
};
// The filter in this form, if it passes exactly these cells, unchanged: column ranges of one column
// each, or a family and a qualifier as literals, and a count per column or none.
std::optional<NewestOf> newest_of(const FilterSpec& spec);

// Sorts and removes duplicates.
void normalize(NamedColumns& columns);

}  // namespace cellar::engine
