#include "net/wire/index_codec.h"

#include <algorithm>

#include "engine/model/types.h"
#include "net/wire/frame.h"
#include "net/wire/read_codec.h"

namespace cellar::wire {
namespace {

constexpr uint8_t kTimePartFlags = bit(fb::RangeFlag::HasStart) | bit(fb::RangeFlag::HasEnd);
constexpr uint8_t kPartFlags =
    kTimePartFlags | bit(fb::RangeFlag::StartOpen) | bit(fb::RangeFlag::EndClosed);

Result<void> check_flags(uint8_t flags, uint8_t known, bool reserved_is_zero,
                         std::string_view what) {
  if ((flags & ~known) != 0) {
    return fail(Errc::invalid_argument, "the range of {}: flags {:#x} do not exist", what,
                flags & ~known);
  }
  if (!reserved_is_zero) {
    return fail(Errc::invalid_argument, "the range of {}: a reserved field is not 0", what);
  }
  return {};
}

Result<KeyPartRange> decode_range(const fb::RangeRec& rec, Bytes arena, std::string_view what) {
  TRY_VOID(
      check_flags(rec.flags(), kPartFlags, rec.reserved8() == 0 && rec.reserved16() == 0, what));
  Bytes start;
  Bytes end;
  if (!view(rec.start(), arena, start) || !view(rec.end(), arena, end)) {
    return fail(Errc::invalid_argument, "the range of {} lies outside the arena", what);
  }
  const auto flag = [&rec](fb::RangeFlag f) { return (rec.flags() & bit(f)) != 0; };
  KeyPartRange range;
  if (flag(fb::RangeFlag::HasStart)) {
    range.start = start;
    range.start_open = flag(fb::RangeFlag::StartOpen);
  }
  if (flag(fb::RangeFlag::HasEnd)) {
    range.end = end;
    range.end_closed = flag(fb::RangeFlag::EndClosed);
  }
  return range;
}

// The condition on a key part: equal to one value, or in a range; at most one of the two is given.
Result<void> decode_part(const fb::Span* equal, const fb::RangeRec* range, Bytes arena,
                         std::string_view one, std::string_view many,
                         std::optional<KeyPartRange>& out) {
  if (equal != nullptr && range != nullptr) {
    return fail(Errc::invalid_argument, "`{}` stands beside `{}`; a read has one of the two", one,
                many);
  }
  if (equal != nullptr) {
    Bytes bytes;
    if (!view(*equal, arena, bytes)) {
      return fail(Errc::invalid_argument, "`{}` lies outside the arena", one);
    }
    out = KeyPartRange::exactly(bytes);
  }
  if (range != nullptr) {
    TRY(out, decode_range(*range, arena, many));
  }
  return {};
}

Result<void> decode_time(const fb::TimeRangeRec* rec, std::optional<TimeRange>& out) {
  if (rec == nullptr) return {};
  TRY_VOID(check_flags(rec->flags(), kTimePartFlags,
                       rec->reserved8() == 0 && rec->reserved16() == 0 && rec->reserved32() == 0,
                       "time"));
  TimeRange& range = out.emplace();
  if ((rec->flags() & bit(fb::RangeFlag::HasStart)) != 0) range.start_us = rec->start();
  if ((rec->flags() & bit(fb::RangeFlag::HasEnd)) != 0) range.end_us = rec->end();
  return {};
}

Result<void> decode_what(const fb::ReadIndexRequest& request, Bytes arena, DecodedIndexRead& out) {
  out.spec.whole_rows = request.whole_rows();
  const bool filters = request.filter() != nullptr && request.filter()->size() > 0;
  if (filters && !out.spec.whole_rows) {
    return fail(Errc::invalid_argument, "a filter is only for whole rows");
  }
  out.spec.explain = request.explain();
  if (out.spec.explain && out.spec.whole_rows) {
    return fail(Errc::invalid_argument, "a read through an index explains cells, not whole rows");
  }
  TRY_VOID(decode_filter(request.filter(), arena, out.filter));
  if (const auto limit = request.limit()) {
    if (*limit < 1) return fail(Errc::invalid_argument, "a limit of {} is below 1", *limit);
    out.limit = static_cast<uint64_t>(*limit);
  }
  return {};
}

}  // namespace

Result<void> decode(const fb::ReadIndexRequest& request, DecodedIndexRead& out) {
  out = DecodedIndexRead();
  out.table = text(request.table());
  out.spec.index = text(request.index());
  const Bytes arena = bytes_of(request.arena());
  TRY_VOID(
      decode_part(request.value(), request.values(), arena, "value", "values", out.spec.values));
  TRY_VOID(decode_part(request.qualifier(), request.qualifiers(), arena, "qualifier", "qualifiers",
                       out.spec.qualifiers));
  TRY_VOID(decode_time(request.time(), out.spec.time));
  TRY_VOID(decode_rows(request.keys(), request.ranges(), arena, out.spec.rows));
  TRY_VOID(decode_what(request, arena, out));
  out.spec.reversed = request.reversed();
  out.spec.after = bytes_of(request.after());
  out.credits =
      std::min(request.credits() == 0 ? kDefaultChunkCredits : request.credits(), kMaxChunkCredits);
  return {};
}

}  // namespace cellar::wire
