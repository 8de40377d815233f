#include "net/wire/read_codec.h"

#include <algorithm>

#include "engine/model/key.h"
#include "net/wire/frame.h"

namespace cellar::wire {
namespace {

constexpr uint8_t kRangeFlags = bit(fb::RangeFlag::HasStart) | bit(fb::RangeFlag::StartOpen) |
                                bit(fb::RangeFlag::HasEnd) | bit(fb::RangeFlag::EndClosed);

Result<void> check_key(Bytes key, std::string_view what) {
  if (key.empty()) return fail(Errc::invalid_argument, "{} is empty", what);
  if (key.size() > kMaxRowKeyBytes) {
    return fail(Errc::invalid_argument, "{} of {} bytes is over the limit of {}", what, key.size(),
                kMaxRowKeyBytes);
  }
  return {};
}

// Adds the range to `rows` unless it is empty (start equals end).
Result<void> add_range(const fb::RangeRec& rec, size_t index, Bytes arena, RowSet& rows) {
  Bytes start;
  Bytes end;
  if (!view(rec.start(), arena, start) || !view(rec.end(), arena, end)) {
    return fail(Errc::invalid_argument, "range {} lies outside the arena", index);
  }
  const auto flag = [&](fb::RangeFlag f) { return (rec.flags() & bit(f)) != 0; };
  if ((rec.flags() & ~kRangeFlags) != 0) {
    return fail(Errc::invalid_argument, "range {}: flags {:#x} do not exist", index,
                rec.flags() & ~kRangeFlags);
  }
  if (rec.reserved8() != 0 || rec.reserved16() != 0) {
    return fail(Errc::invalid_argument, "range {}: a reserved field is not 0", index);
  }
  if (start.size() > kMaxRowKeyBytes || end.size() > kMaxRowKeyBytes) {
    return fail(Errc::invalid_argument, "range {}: a bound of {} bytes is over the limit of {}",
                index, std::max(start.size(), end.size()), kMaxRowKeyBytes);
  }
  const bool has_start = flag(fb::RangeFlag::HasStart);
  const bool has_end = flag(fb::RangeFlag::HasEnd);
  KeyRange range;
  if (has_start) range.start = start;
  if (has_end) range.end = end;
  if (has_end && range.end < range.start) {
    return fail(Errc::invalid_argument, "range {} ends at '{}', before it starts at '{}'", index,
                escape_bytes(end), escape_bytes(start));
  }
  if (has_start && flag(fb::RangeFlag::StartOpen)) range.start.push_back('\0');
  if (has_end && flag(fb::RangeFlag::EndClosed)) range.end.push_back('\0');
  if (has_end && range.end <= range.start) return {};
  rows.add(std::move(range));
  return {};
}

// Decodes which notes accompany the cells.
template <class Request>
void decode_notes(const Request& request, ReadSpec& spec) {
  spec.explain = request.explain();
  spec.include_dead = request.include_dead();
  spec.with_expiry = request.with_expiry();
}

}  // namespace

Result<void> decode_rows(const flatbuffers::Vector<const fb::Span*>* keys,
                         const flatbuffers::Vector<const fb::RangeRec*>* ranges, Bytes arena,
                         RowSet& out) {
  if (keys == nullptr && ranges == nullptr) {
    out = RowSet::everything();
    return {};
  }
  out = RowSet();
  if (keys != nullptr) {
    for (const fb::Span* span : *keys) {
      Bytes key;
      if (!view(*span, arena, key)) {
        return fail(Errc::invalid_argument, "a row key lies outside the arena");
      }
      TRY_VOID(check_key(key, "a row key"));
      out.add(KeyRange::single(key));
    }
  }
  if (ranges != nullptr) {
    size_t index = 0;
    for (const fb::RangeRec* rec : *ranges) {
      TRY_VOID(add_range(*rec, index++, arena, out));
    }
  }
  out.normalize();
  return {};
}

Result<void> decode(const fb::ReadRowRequest& request, DecodedRead& out) {
  out = DecodedRead();
  out.table = text(request.table());
  const Bytes arena = bytes_of(request.arena());
  Bytes row;
  if (!view(*request.row(), arena, row)) {
    return fail(Errc::invalid_argument, "the row key lies outside the arena");
  }
  TRY_VOID(check_key(row, "the row key"));
  TRY_VOID(decode_filter(request.filter(), arena, out.filter));
  out.spec.rows.add(KeyRange::single(row));
  decode_notes(request, out.spec);
  return {};
}

Result<void> decode(const fb::ReadRowsRequest& request, DecodedRead& out) {
  out = DecodedRead();
  out.table = text(request.table());
  const Bytes arena = bytes_of(request.arena());
  TRY_VOID(decode_rows(request.keys(), request.ranges(), arena, out.spec.rows));
  TRY_VOID(decode_filter(request.filter(), arena, out.filter));
  out.spec.reversed = request.reversed();
  out.spec.row_limit = request.row_limit();
  out.credits =
      std::min(request.credits() == 0 ? kDefaultChunkCredits : request.credits(), kMaxChunkCredits);
  decode_notes(request, out.spec);
  return {};
}

}  // namespace cellar::wire
