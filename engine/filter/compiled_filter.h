// CompiledFilter: a filter tree prepared for running over rows. Immutable, so that one serves every
// tablet of a scan, on any shard. FilterPlan: the distribution of a filter over a read.
//
//   TRY(FilterPlan plan, plan_filter(spec));     // once per request
//   plan.narrow(read_spec);                      // then read as usual
//
// What a read can do itself (ReadSpec: rows, time range, newest n of each column) is taken out of
// the tree if that changes no result; the rest is divided into three parts:
//
//   gate   judges rows and columns: row regexes and samples, family and qualifier regexes, column
//          ranges. Called once per row and column; the reader seeks past what it rejects. What a
//          regex says literally (a family, a qualifier, the first bytes of qualifiers) is a column
//          range too
//   head   filters that judge or change one cell at a time, including counts
//   tail   everything from the first interleave, condition or sink on, as a tree
//
// Sound moves: the stages of the root chain, read from the front, stay in order except that
//   - row and column filters move ahead of everything that neither counts over a row nor branches:
//     all others judge a column by itself, so it does not matter when a column is rejected;
//   - a time range moves ahead of everything except a limit per column;
//   - a limit per column moves ahead of strip_value and label, but not of remaining time ranges or
//     value filters.
// Nothing moves ahead of a count over the row or of the tail.
//
// Example: chain(family "f|g", value "v.*", cells_per_column 1, time_range) ->
//   gate {family "f|g"}, head {value "v.*", cells_per_column 1, time_range}, no tail.
//
// Memory: regular expressions share kRegexMemoryBytes; one that exceeds its share is refused.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/filter/byte_regex.h"
#include "engine/filter/named_columns.h"
#include "engine/model/filter_spec.h"
#include "engine/model/read_spec.h"
#include "io/base/result.h"

namespace cellar::engine {

// The gate's verdict on a column.
enum class ColumnVerdict : uint8_t {
  take,
  skip_column,     // this column is not wanted
  skip_to_start,   // nothing of the family before range_start() is wanted
  skip_family,     // nothing of this family is wanted
  skip_to_family,  // nothing before range_family() is wanted
  skip_row,        // nothing more of the row is wanted
};

class CompiledFilter {
 public:
  // A node as it runs; in the tail, and in the stages of gate and head.
  struct Node {
    FilterNode spec;
    uint32_t end = 0;                  // of a tail node: index after its subtree
    uint32_t number = 0;               // in the filter as stated
    uint16_t label = 0;                // of a label: the value of FilteredCell::label
    std::unique_ptr<ByteRegex> regex;  // for the four kinds with one
  };

  // ---- the gate ----
  const std::vector<Node>& row_gate() const { return row_gate_; }
  bool has_column_gate() const { return !column_gate_.empty(); }
  // family_regex and qualifier_regex.
  const std::vector<Node>& column_gate() const { return column_gate_; }
  // Qualifiers outside [range_start, range_end) do not pass, nor, if in_one_family(), families
  // other than range_family; valid with has_range().
  bool has_range() const { return has_range_; }
  bool in_one_family() const { return in_one_family_; }
  Bytes range_family() const { return range_family_; }
  Bytes range_start() const { return range_start_; }
  bool in_range_end(Bytes qualifier) const { return !has_range_end_ || qualifier < range_end_; }

  const std::vector<Node>& head() const { return head_; }
  // A tree in pre-order; empty: the head's output is the result.
  const std::vector<Node>& tail() const { return tail_; }
  // The tail has a condition, so its branch is known only at the end of the row.
  bool needs_row() const { return needs_row_; }
  // The text of Node::label. REQUIRES: not 0.
  Bytes label(uint16_t label) const { return labels_[label - 1]; }
  // Cells of other columns do not affect the result; empty: unknown.
  const std::optional<NamedColumns>& columns() const { return columns_; }
  // The filter passes these cells and changes none (newest_of()); empty: it has another form.
  const std::optional<NewestOf>& newest() const { return newest_; }
  // Seed of row samples; differs for each compiled filter.
  uint64_t seed() const { return seed_; }

 private:
  friend class FilterPlanner;

  std::vector<Node> row_gate_;
  std::vector<Node> column_gate_;
  bool has_range_ = false;
  bool in_one_family_ = false;
  std::string range_family_;
  std::string range_start_;
  bool has_range_end_ = false;
  std::string range_end_;
  std::vector<Node> head_;
  std::vector<Node> tail_;
  bool needs_row_ = false;
  std::vector<std::string> labels_;
  std::optional<NamedColumns> columns_;
  std::optional<NewestOf> newest_;
  uint64_t seed_ = 0;
};

struct FilterPlan {
  TimeRange time_range;
  uint32_t versions = 0;                         // 0: all
  bool nothing = false;                          // no cell can pass
  KeyRange rows;                                 // rows outside cannot pass
  std::shared_ptr<const CompiledFilter> filter;  // null: nothing is left to do

  // Restricts `spec` to what the filter passes. REQUIRES: it has no filter and no versions yet.
  void narrow(ReadSpec& spec) const;
};

enum class PushDown : uint8_t { yes, no };

// INVALID_ARGUMENT as in validate_filter(), and for a regular expression that is malformed or
// exceeds its share of memory. With PushDown::no everything is left to the tail: the same results,
// more slowly; tests compare both.
Result<FilterPlan> plan_filter(const FilterSpec& spec, PushDown push_down = PushDown::yes);

}  // namespace cellar::engine
