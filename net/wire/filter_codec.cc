#include "net/wire/filter_codec.h"

#include <algorithm>

namespace cellar::wire {
namespace {

using Nodes = flatbuffers::Vector<const fb::FilterNode*>;

constexpr bool has(uint8_t flags, fb::RangeFlag flag) {
  return (flags & static_cast<uint8_t>(flag)) != 0;
}

constexpr uint8_t kBoundFlags =
    static_cast<uint8_t>(fb::RangeFlag::HasStart) | static_cast<uint8_t>(fb::RangeFlag::StartOpen) |
    static_cast<uint8_t>(fb::RangeFlag::HasEnd) | static_cast<uint8_t>(fb::RangeFlag::EndClosed);
constexpr uint8_t kTimeFlags =
    static_cast<uint8_t>(fb::RangeFlag::HasStart) | static_cast<uint8_t>(fb::RangeFlag::HasEnd);
constexpr uint8_t kConditionFlags =
    static_cast<uint8_t>(fb::RangeFlag::HasThen) | static_cast<uint8_t>(fb::RangeFlag::HasElse);

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

std::string_view kind_name(fb::FilterKind kind) { return kKindNames[static_cast<size_t>(kind)]; }

// Walks the tree in pre-order, which is the order of the vector, with a bounded recursion.
class FilterCheck {
 public:
  FilterCheck(const Nodes& nodes, Bytes arena) : nodes_(nodes), arena_(arena) {}

  Result<void> run() {
    TRY_VOID(node(1, false));
    if (next_ != nodes_.size()) {
      return fail(Errc::invalid_argument, "the filter has {} nodes beside its tree",
                  nodes_.size() - next_);
    }
    return {};
  }

 private:
  Result<void> node(size_t depth, bool in_condition) {
    if (next_ == nodes_.size()) {
      return fail(Errc::invalid_argument, "the filter's tree needs more than its {} nodes",
                  nodes_.size());
    }
    if (depth > kMaxFilterDepth) {
      return fail(Errc::invalid_argument, "the filter is deeper than {} levels", kMaxFilterDepth);
    }
    const auto index = static_cast<flatbuffers::uoffset_t>(next_++);
    const fb::FilterNode& n = *nodes_.Get(index);
    if (n.kind() < 1 || n.kind() > static_cast<uint8_t>(fb::FilterKind::ApplyLabel)) {
      return fail(Errc::invalid_argument, "filter node {}: kind {} does not exist", index,
                  n.kind());
    }
    const auto kind = static_cast<fb::FilterKind>(n.kind());
    TRY_VOID(shape(index, n, kind, in_condition));
    TRY_VOID(value(index, n, kind));
    const bool condition = in_condition || kind == fb::FilterKind::Condition;
    for (uint32_t i = 0; i < n.child_count(); ++i) TRY_VOID(node(depth + 1, condition));
    return {};
  }

  // Children and flags.
  Result<void> shape(uint32_t index, const fb::FilterNode& n, fb::FilterKind kind,
                     bool in_condition) {
    uint8_t allowed = 0;
    uint32_t children = 0;
    switch (kind) {
      case fb::FilterKind::Chain:
      case fb::FilterKind::Interleave:
        if (n.child_count() < 2) {
          return fail(Errc::invalid_argument, "filter node {}: a {} of {} filters needs at least 2",
                      index, kind_name(kind), n.child_count());
        }
        children = n.child_count();
        break;
      case fb::FilterKind::Condition:
        allowed = kConditionFlags;
        children =
            1u + has(n.flags(), fb::RangeFlag::HasThen) + has(n.flags(), fb::RangeFlag::HasElse);
        break;
      case fb::FilterKind::ColumnRange:
      case fb::FilterKind::ValueRange:
        allowed = kBoundFlags;
        break;
      case fb::FilterKind::TimestampRange:
        allowed = kTimeFlags;
        break;
      case fb::FilterKind::Sink:
        if (in_condition) {
          return fail(Errc::invalid_argument, "filter node {}: a sink inside a condition", index);
        }
        break;
      default:
        break;
    }
    if (n.child_count() != children) {
      return fail(Errc::invalid_argument, "filter node {}: {} takes {} filters, not {}", index,
                  kind_name(kind), children, n.child_count());
    }
    if ((n.flags() & ~allowed) != 0) {
      return fail(Errc::invalid_argument, "filter node {}: flags {:#x} do not belong to {}", index,
                  n.flags() & ~allowed, kind_name(kind));
    }
    return {};
  }

  Result<void> value(uint32_t index, const fb::FilterNode& n, fb::FilterKind kind) {
    Bytes a;
    Bytes b;
    Bytes c;
    if (!view(n.a(), arena_, a) || !view(n.b(), arena_, b) || !view(n.c(), arena_, c)) {
      return fail(Errc::invalid_argument, "filter node {}: its bytes lie outside the arena", index);
    }
    named_bytes_ += a.size() + b.size() + c.size();
    // The bound is on the filter as a person writes it: a node of the wire is larger than that.
    if (nodes_.size() * kWrittenNodeBytes + named_bytes_ > kMaxFilterBytes) {
      return fail(Errc::invalid_argument, "the filter is larger than {} bytes", kMaxFilterBytes);
    }
    switch (kind) {
      case fb::FilterKind::RowSample:
        if (!(n.sample() > 0 && n.sample() < 1)) {
          return fail(Errc::invalid_argument, "filter node {}: a row sample of {} is not in (0, 1)",
                      index, n.sample());
        }
        return {};
      case fb::FilterKind::CellsPerRowOffset:
      case fb::FilterKind::CellsPerRowLimit:
      case fb::FilterKind::CellsPerColumnLimit:
        if (n.start() < 1) {
          return fail(Errc::invalid_argument, "filter node {}: {} of {} is below 1", index,
                      kind_name(kind), n.start());
        }
        return {};
      case fb::FilterKind::TimestampRange:
        return time_range(index, n);
      case fb::FilterKind::ColumnRange:
      case fb::FilterKind::ValueRange:
        if (has(n.flags(), fb::RangeFlag::HasStart) && has(n.flags(), fb::RangeFlag::HasEnd) &&
            b < a) {
          return fail(Errc::invalid_argument, "filter node {}: the range ends before it starts",
                      index);
        }
        return {};
      case fb::FilterKind::ApplyLabel:
        return label(index, a);
      default:
        return {};
    }
  }

  static Result<void> time_range(uint32_t index, const fb::FilterNode& n) {
    const bool has_start = has(n.flags(), fb::RangeFlag::HasStart);
    const bool has_end = has(n.flags(), fb::RangeFlag::HasEnd);
    if ((has_start && n.start() < 0) || (has_end && n.end() < 0)) {
      return fail(Errc::invalid_argument, "filter node {}: a time range with a negative bound",
                  index);
    }
    if (has_end && n.end() <= (has_start ? n.start() : 0)) {
      return fail(Errc::invalid_argument, "filter node {}: the time range [{}, {}) is empty", index,
                  has_start ? n.start() : 0, n.end());
    }
    return {};
  }

  static Result<void> label(uint32_t index, Bytes label) {
    const bool good = !label.empty() && label.size() <= kMaxLabelBytes &&
                      std::all_of(label.begin(), label.end(), [](char ch) {
                        return (ch >= 'a' && ch <= 'z') || (ch >= '0' && ch <= '9') || ch == '-';
                      });
    if (good) return {};
    return fail(Errc::invalid_argument, "filter node {}: label '{}' is not [a-z0-9-]{{1,{}}}",
                index, escape_bytes(label), kMaxLabelBytes);
  }

  static constexpr size_t kWrittenNodeBytes = 8;

  const Nodes& nodes_;
  Bytes arena_;
  size_t next_ = 0;
  size_t named_bytes_ = 0;
};

void take_time_range(const fb::FilterNode& n, DecodedFilter& out) {
  if (has(n.flags(), fb::RangeFlag::HasStart)) out.time_range.start_us = n.start();
  if (has(n.flags(), fb::RangeFlag::HasEnd)) out.time_range.end_us = n.end();
  out.has_time_range = true;
}

void take_versions(const fb::FilterNode& n, DecodedFilter& out) {
  out.versions = static_cast<uint32_t>(std::min<int64_t>(n.start(), UINT32_MAX));
}

fb::FilterKind kind_at(const Nodes& nodes, uint32_t index) {
  return static_cast<fb::FilterKind>(nodes.Get(index)->kind());
}

// What a ReadSpec can do is: pass all, a time range, the newest n, and the two in that order.
void reduce(const Nodes& nodes, DecodedFilter& out) {
  switch (kind_at(nodes, 0)) {
    case fb::FilterKind::PassAll:
      return;
    case fb::FilterKind::TimestampRange:
      return take_time_range(*nodes.Get(0), out);
    case fb::FilterKind::CellsPerColumnLimit:
      return take_versions(*nodes.Get(0), out);
    case fb::FilterKind::Chain:
      if (nodes.size() == 3 && kind_at(nodes, 1) == fb::FilterKind::TimestampRange &&
          kind_at(nodes, 2) == fb::FilterKind::CellsPerColumnLimit) {
        take_time_range(*nodes.Get(1), out);
        return take_versions(*nodes.Get(2), out);
      }
      break;
    default:
      break;
  }
  out.unimplemented = kind_name(kind_at(nodes, 0));
}

}  // namespace

Result<void> decode_filter(const Nodes* nodes, Bytes arena, DecodedFilter& out) {
  out = DecodedFilter();
  if (nodes == nullptr || nodes->size() == 0) return {};
  TRY_VOID(check_aligned(nodes, "filter"));
  TRY_VOID(FilterCheck(*nodes, arena).run());
  reduce(*nodes, out);
  return {};
}

Result<void> check_granularity(const DecodedFilter& filter, Granularity granularity) {
  if (!filter.has_time_range) return {};
  const int64_t granule = granule_us(granularity);
  for (const int64_t bound : {filter.time_range.start_us, filter.time_range.end_us}) {
    if (bound % granule != 0 && bound != kMaxTimestampUs) {
      return fail(Errc::invalid_argument,
                  "the time range's bound {} is not a multiple of the table's {} microseconds",
                  bound, granule);
    }
  }
  return {};
}

}  // namespace cellar::wire
