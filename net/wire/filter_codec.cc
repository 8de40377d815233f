#include "net/wire/filter_codec.h"

namespace cellar::wire {
namespace {

using Nodes = flatbuffers::Vector<const fb::FilterNode*>;

constexpr uint8_t kBoundFlags = bit(fb::RangeFlag::HasStart) | bit(fb::RangeFlag::StartOpen) |
                                bit(fb::RangeFlag::HasEnd) | bit(fb::RangeFlag::EndClosed);
constexpr uint8_t kTimeFlags = bit(fb::RangeFlag::HasStart) | bit(fb::RangeFlag::HasEnd);
constexpr uint8_t kConditionFlags = bit(fb::RangeFlag::HasThen) | bit(fb::RangeFlag::HasElse);

uint8_t flags_of(FilterKind kind) {
  switch (kind) {
    case FilterKind::column_range:
    case FilterKind::value_range:
      return kBoundFlags;
    case FilterKind::time_range:
      return kTimeFlags;
    case FilterKind::condition:
      return kConditionFlags;
    default:
      return 0;
  }
}

Result<void> take_bytes(const fb::FilterNode& n, size_t index, Bytes arena, size_t& named_bytes,
                        FilterNode& out) {
  Bytes a;
  Bytes b;
  Bytes c;
  if (!view(n.a(), arena, a) || !view(n.b(), arena, b) || !view(n.c(), arena, c)) {
    return fail(Errc::invalid_argument, "filter node {}: its bytes lie outside the arena", index);
  }
  // Spans may overlap, so the sum of copied bytes is bounded before anything is copied.
  named_bytes += a.size() + b.size() + c.size();
  if (named_bytes > kMaxFilterBytes) {
    return fail(Errc::invalid_argument, "the filter is larger than {} bytes", kMaxFilterBytes);
  }
  out.text = a;
  out.end_text = b;
  out.family = c;
  return {};
}

Result<void> take_node(const fb::FilterNode& n, size_t index, FilterNode& out) {
  if (n.kind() < 1 || n.kind() > static_cast<uint8_t>(FilterKind::label)) {
    return fail(Errc::invalid_argument, "filter node {}: kind {} does not exist", index, n.kind());
  }
  if (n.reserved() != 0) {
    return fail(Errc::invalid_argument, "filter node {}: a reserved field is not 0", index);
  }
  out.kind = static_cast<FilterKind>(n.kind());
  if (const int wrong = n.flags() & ~flags_of(out.kind); wrong != 0) {
    return fail(Errc::invalid_argument, "filter node {}: flags {:#x} do not belong to {}", index,
                wrong, filter_kind_name(out.kind));
  }
  const auto has = [&](fb::RangeFlag flag) { return (n.flags() & bit(flag)) != 0; };
  out.has_start = has(fb::RangeFlag::HasStart);
  out.start_open = has(fb::RangeFlag::StartOpen);
  out.has_end = has(fb::RangeFlag::HasEnd);
  out.end_closed = has(fb::RangeFlag::EndClosed);
  out.has_then = has(fb::RangeFlag::HasThen);
  out.has_else = has(fb::RangeFlag::HasElse);
  out.child_count = n.child_count();
  out.start = n.start();
  out.end = n.end();
  out.sample = n.sample();
  return {};
}

}  // namespace

Result<void> decode_filter(const Nodes* nodes, Bytes arena, FilterSpec& out) {
  out.nodes.clear();
  if (nodes == nullptr || nodes->size() == 0) return {};
  TRY_VOID(check_aligned(nodes, "filter"));
  if (nodes->size() > kMaxFilterNodes) {
    return fail(Errc::invalid_argument, "the filter of {} nodes is larger than {} bytes",
                nodes->size(), kMaxFilterBytes);
  }
  out.nodes.resize(nodes->size());
  size_t named_bytes = 0;
  for (flatbuffers::uoffset_t i = 0; i < nodes->size(); ++i) {
    TRY_VOID(take_node(*nodes->Get(i), i, out.nodes[i]));
    TRY_VOID(take_bytes(*nodes->Get(i), i, arena, named_bytes, out.nodes[i]));
  }
  return validate_filter(out);
}

}  // namespace cellar::wire
