// CompiledFilter: a filter tree made ready to run over rows. Immutable, so that one may serve every
// tablet a scan passes, on whichever shard they are. FilterPlan: how a filter is spread over a
// read.
//
//   TRY(FilterPlan plan, plan_filter(spec));     // once a request
//   plan.narrow(read_spec);                      // then read as ever
//
// What a read can do by itself (ReadSpec: rows, time range, newest n of each column) is taken out
// of the tree where that changes no answer; the rest is cut into three:
//
//   gate   what judges rows and columns: row regexes and samples, family and qualifier regexes,
//          column ranges. Asked once a row and once a column; the reader seeks over what it refuses
//   head   filters that judge or change one cell at a time, counting included
//   tail   what begins with the first interleave, condition or sink, as a tree
//
// Which moves are sound: the stages of the root chain, read from the front, stay in order except
// that
//   - row and column filters move ahead of everything that neither counts over a row nor branches:
//     all others judge a column by itself, so it does not matter when a column is left out;
//   - a time range moves ahead of everything but a limit per column;
//   - a limit per column moves ahead of strip_value and label, not of time ranges left behind or
//     of value filters.
// Nothing moves ahead of a count over the row, or of the tail.
//
// Example: chain(family "f", value "v.*", cells_per_column 1, time_range) ->
//   gate {family "f"}, head {value "v.*", cells_per_column 1, time_range}, no tail.
//
// Memory: regular expressions share kRegexMemoryBytes; one that does not fit its share is refused.
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

// Where a column stands to what the gate wants.
enum class ColumnVerdict : uint8_t {
  take,
  skip_column,     // not this one
  skip_to_start,   // none of the family before range_start()
  skip_family,     // none of this family
  skip_to_family,  // none before range_family()
  skip_row,        // nothing more of the row
};

class CompiledFilter {
 public:
  // What a node needs to run; of the tail, and of the stages of gate and head.
  struct Node {
    FilterNode spec;
    uint32_t end = 0;                  // of a tail node: index past its subtree
    uint32_t number = 0;               // in the filter as stated
    uint16_t label = 0;                // of a label: what FilteredCell::label says
    std::unique_ptr<ByteRegex> regex;  // of the four kinds that have one
  };

  // ---- the gate ----
  const std::vector<Node>& row_gate() const { return row_gate_; }
  bool has_column_gate() const { return !column_gate_.empty(); }
  // family_regex and qualifier_regex.
  const std::vector<Node>& column_gate() const { return column_gate_; }
  // Columns outside [range_start, range_end) of range_family do not pass; with has_range().
  bool has_range() const { return has_range_; }
  Bytes range_family() const { return range_family_; }
  Bytes range_start() const { return range_start_; }
  bool in_range_end(Bytes qualifier) const { return !has_range_end_ || qualifier < range_end_; }

  const std::vector<Node>& head() const { return head_; }
  // A tree in pre-order; empty: the head's output is the answer.
  const std::vector<Node>& tail() const { return tail_; }
  // The tail holds a condition, so that its branch is known only at the row's end.
  bool needs_row() const { return needs_row_; }
  // The text of Node::label. REQUIRES: not 0.
  Bytes label(uint16_t label) const { return labels_[label - 1]; }
  // What cells of other columns hold changes nothing; none: that is not known.
  const std::optional<NamedColumns>& columns() const { return columns_; }
  // What row samples draw from; another for each filter compiled.
  uint64_t seed() const { return seed_; }

 private:
  friend class FilterPlanner;

  std::vector<Node> row_gate_;
  std::vector<Node> column_gate_;
  bool has_range_ = false;
  std::string range_family_;
  std::string range_start_;
  bool has_range_end_ = false;
  std::string range_end_;
  std::vector<Node> head_;
  std::vector<Node> tail_;
  bool needs_row_ = false;
  std::vector<std::string> labels_;
  std::optional<NamedColumns> columns_;
  uint64_t seed_ = 0;
};

struct FilterPlan {
  TimeRange time_range;
  uint32_t versions = 0;                         // 0: all
  bool nothing = false;                          // no cell can pass
  KeyRange rows;                                 // no row outside can pass
  std::shared_ptr<const CompiledFilter> filter;  // null: nothing is left to do

  // Makes `spec` answer only what the filter lets pass. REQUIRES: it has no filter and no
  // versions yet.
  void narrow(ReadSpec& spec) const;
};

enum class PushDown : uint8_t { yes, no };

// INVALID_ARGUMENT as validate_filter(), and for a regular expression that is malformed or larger
// than its share of memory. With PushDown::no everything is left to the tail: the same answers,
// more slowly; tests hold the two against each other.
Result<FilterPlan> plan_filter(const FilterSpec& spec, PushDown push_down = PushDown::yes);

}  // namespace cellar::engine
