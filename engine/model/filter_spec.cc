#include "engine/model/filter_spec.h"

#include <algorithm>

#include "io/base/bytes.h"
#include "io/base/time_text.h"

namespace cellar {
namespace {

constexpr std::string_view kKindNames[] = {"",
                                           "pass",
                                           "block",
                                           "sink",
                                           "chain",
                                           "interleave",
                                           "condition",
                                           "row_regex",
                                           "row_sample",
                                           "family_regex",
                                           "qualifier_regex",
                                           "column_range",
                                           "time_range",
                                           "value_regex",
                                           "value_range",
                                           "value_bitmask",
                                           "cells_per_row_offset",
                                           "cells_per_row",
                                           "cells_per_column",
                                           "strip_value",
                                           "label"};

// Visits the tree in pre-order, the order of the vector, with bounded recursion.
class FilterCheck {
 public:
  explicit FilterCheck(const std::vector<FilterNode>& nodes) : nodes_(nodes) {}

  Result<void> run() {
    TRY_VOID(size());
    TRY_VOID(node(1, false));
    if (next_ != nodes_.size()) {
      return fail(Errc::invalid_argument, "the filter has {} nodes beside its tree",
                  nodes_.size() - next_);
    }
    return {};
  }

 private:
  Result<void> size() const {
    size_t bytes = nodes_.size() * kFilterNodeBytes;
    for (const FilterNode& n : nodes_) bytes += n.text.size() + n.end_text.size() + n.family.size();
    if (bytes <= kMaxFilterBytes) return {};
    return fail(Errc::invalid_argument, "the filter of {} bytes is larger than {}", bytes,
                kMaxFilterBytes);
  }

  // Returns whether the subtree applies labels.
  Result<bool> node(size_t depth, bool in_condition) {
    if (next_ == nodes_.size()) {
      return fail(Errc::invalid_argument, "the filter's tree needs more than its {} nodes",
                  nodes_.size());
    }
    if (depth > kMaxFilterDepth) {
      return fail(Errc::invalid_argument, "the filter is deeper than {} levels", kMaxFilterDepth);
    }
    const size_t index = next_++;
    const FilterNode& n = nodes_[index];
    TRY_VOID(children(index, n));
    TRY_VOID(value(index, n));
    if (n.kind == FilterKind::sink && in_condition) {
      return fail(Errc::invalid_argument, "filter node {}: a sink inside a condition", index);
    }
    const bool condition = in_condition || n.kind == FilterKind::condition;
    uint32_t labelled = 0;
    for (uint32_t i = 0; i < n.child_count; ++i) {
      TRY(const bool labels, node(depth + 1, condition));
      labelled += labels ? 1 : 0;
    }
    if (n.kind == FilterKind::chain && labelled > 1) {
      return fail(Errc::invalid_argument,
                  "filter node {}: {} filters of the chain apply labels, and a cell has one", index,
                  labelled);
    }
    return labelled > 0 || n.kind == FilterKind::label;
  }

  static Result<void> children(size_t index, const FilterNode& n) {
    uint32_t wanted = 0;
    switch (n.kind) {
      case FilterKind::chain:
      case FilterKind::interleave:
        if (n.child_count < 2) {
          return fail(Errc::invalid_argument, "filter node {}: a {} of {} filters needs at least 2",
                      index, filter_kind_name(n.kind), n.child_count);
        }
        return {};
      case FilterKind::condition:
        if (!n.has_then && !n.has_else) {
          return fail(Errc::invalid_argument, "filter node {}: a condition without a branch",
                      index);
        }
        wanted = 1u + (n.has_then ? 1 : 0) + (n.has_else ? 1 : 0);
        break;
      default:
        break;
    }
    if (n.child_count == wanted) return {};
    return fail(Errc::invalid_argument, "filter node {}: {} takes {} filters, not {}", index,
                filter_kind_name(n.kind), wanted, n.child_count);
  }

  static Result<void> value(size_t index, const FilterNode& n) {
    switch (n.kind) {
      case FilterKind::row_sample:
        if (n.sample > 0 && n.sample < 1) return {};
        return fail(Errc::invalid_argument, "filter node {}: a row sample of {} is not in (0, 1)",
                    index, n.sample);
      case FilterKind::cells_per_row_offset:
      case FilterKind::cells_per_row:
      case FilterKind::cells_per_column:
        if (n.start >= 1) return {};
        return fail(Errc::invalid_argument, "filter node {}: {} of {} is below 1", index,
                    filter_kind_name(n.kind), n.start);
      case FilterKind::time_range:
        return time_range(index, n);
      case FilterKind::column_range:
      case FilterKind::value_range:
        if (!n.has_start || !n.has_end || n.text <= n.end_text) return {};
        return fail(Errc::invalid_argument, "filter node {}: the range ends before it starts",
                    index);
      case FilterKind::family_regex:
        if (n.text.find(':') == std::string::npos) return {};
        return fail(Errc::invalid_argument,
                    "filter node {}: a family's regular expression with a ':'", index);
      case FilterKind::label:
        return label(index, n.text);
      default:
        return {};
    }
  }

  static Result<void> time_range(size_t index, const FilterNode& n) {
    if ((n.has_start && n.start < 0) || (n.has_end && n.end < 0)) {
      return fail(Errc::invalid_argument, "filter node {}: a time range with a negative bound",
                  index);
    }
    const int64_t start = n.has_start ? n.start : 0;
    if (!n.has_end || n.end > start) return {};
    return fail(Errc::invalid_argument, "filter node {}: the time range [{}, {}) is empty", index,
                start, n.end);
  }

  static Result<void> label(size_t index, Bytes label) {
    const bool good = !label.empty() && label.size() <= kMaxLabelBytes &&
                      std::all_of(label.begin(), label.end(), [](char ch) {
                        return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '-';
                      });
    if (good) return {};
    return fail(Errc::invalid_argument, "filter node {}: label '{}' is not [a-z0-9-]{{1,{}}}",
                index, escape_bytes(label), kMaxLabelBytes);
  }

  const std::vector<FilterNode>& nodes_;
  size_t next_ = 0;
};

}  // namespace

std::string_view filter_kind_name(FilterKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

Result<void> validate_filter(const FilterSpec& spec) {
  if (spec.empty()) return {};
  return FilterCheck(spec.nodes).run();
}

Result<void> check_granularity(const FilterSpec& spec, Granularity granularity) {
  const int64_t granule = granule_us(granularity);
  for (const FilterNode& n : spec.nodes) {
    if (n.kind != FilterKind::time_range) continue;
    for (const int64_t bound : {n.has_start ? n.start : 0, n.has_end ? n.end : 0}) {
      if (bound % granule != 0 && bound != kMaxTimestampUs) {
        return fail(
            Errc::invalid_argument,
            "the time range's bound {} is not a multiple of {}, the granularity of the table",
            bound, duration_text(granule));
      }
    }
  }
  return {};
}

}  // namespace cellar
