// FilterSpec: an uncompiled filter (SEMANTICS 6): the nodes of a tree in pre-order, as data.
// engine/filter compiles it.
//
//   chain(family_regex "f", cells_per_column 1)  =  {chain, 2 children} {family_regex "f"}
//                                                   {cells_per_column 1}
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/types.h"
#include "io/base/result.h"

namespace cellar {

// The numbers are the wire's.
enum class FilterKind : uint8_t {
  pass = 1,
  block = 2,
  sink = 3,
  chain = 4,
  interleave = 5,
  condition = 6,
  row_regex = 7,
  row_sample = 8,
  family_regex = 9,
  qualifier_regex = 10,
  column_range = 11,
  time_range = 12,
  value_regex = 13,
  value_range = 14,
  value_bitmask = 15,
  cells_per_row_offset = 16,
  cells_per_row = 17,
  cells_per_column = 18,
  strip_value = 19,
  label = 20,
};
// The name of the kind, such as "cells_per_row".
std::string_view filter_kind_name(FilterKind kind);

struct FilterNode {
  FilterKind kind = FilterKind::pass;
  // column_range, value_range, time_range: which bounds are present and whether they are open.
  bool has_start = false;
  bool start_open = false;
  bool has_end = false;
  bool end_closed = false;
  // condition: the children are the predicate, then the branches announced here.
  bool has_then = false;
  bool has_else = false;
  uint32_t child_count = 0;
  int64_t start = 0;     // time_range: microseconds; counting kinds: the count
  int64_t end = 0;       // time_range: microseconds, exclusive
  double sample = 0;     // row_sample
  std::string text;      // a regular expression, bitmask or label; a range's start
  std::string end_text;  // a range's end
  std::string family;    // column_range
};

struct FilterSpec {
  std::vector<FilterNode> nodes;  // empty: pass all
  bool empty() const { return nodes.empty(); }
};

inline constexpr size_t kMaxFilterDepth = 20;
// Size of a filter: the bytes it names, plus kFilterNodeBytes per node.
inline constexpr size_t kMaxFilterBytes = 20 * 1024;
inline constexpr size_t kFilterNodeBytes = 8;
inline constexpr size_t kMaxFilterNodes = kMaxFilterBytes / kFilterNodeBytes;
inline constexpr size_t kMaxLabelBytes = 15;

// Checks everything except the regular expressions, which engine/filter compiles. INVALID_ARGUMENT
// names the node by index and the violated bound.
Result<void> validate_filter(const FilterSpec& spec);

// INVALID_ARGUMENT if a bound of a time range is not a multiple of the table's granularity.
Result<void> check_granularity(const FilterSpec& spec, Granularity granularity);

}  // namespace cellar
