#include "engine/iter/time_bounds.h"

#include <algorithm>

#include "engine/model/token.h"

namespace cellar::engine {
namespace {

// On disk: never renumber.
enum Flag : uint8_t {
  kKnown = 1,
  kCells = 2,
  kExpiry = 4,
  kWithoutExpiry = 8,
  kDeletes = 16,
  kTokens = 32,
  kAllFlags = 63,
};

// A pair is encoded as its start and the distance, which is small.
void put_interval(std::string& out, int64_t from, int64_t to) {
  put_varint(out, zigzag(from));
  put_varint(out, static_cast<uint64_t>(to) - static_cast<uint64_t>(from));
}

bool get_interval(Reader& in, int64_t& from, int64_t& to) {
  from = in.signed_varint();
  to = static_cast<int64_t>(static_cast<uint64_t>(from) + in.varint());
  return from <= to;
}

}  // namespace

void TimeBounds::add_cell(int64_t timestamp_us, int64_t expire_at_us) {
  min_timestamp_us = std::min(min_timestamp_us, timestamp_us);
  max_timestamp_us = std::max(max_timestamp_us, timestamp_us);
  if (expire_at_us == kNoExpiry) {
    any_without_expiry = true;
  } else {
    latest_expiry_us = std::max(latest_expiry_us, expire_at_us);
  }
}

void TimeBounds::add_delete(int64_t start_us, int64_t end_us) {
  delete_start_us = std::min(delete_start_us, start_us);
  delete_end_us = std::max(delete_end_us, std::max(start_us, end_us));
}

void TimeBounds::add_entry(const ParsedKey& key, Bytes value) {
  switch (key.kind) {
    case EntryKind::cell: {
      CellValue cell;
      if (!parse_cell_value(value, cell)) {
        known = false;
        return;
      }
      return add_cell(key.timestamp_us, cell.expire_at_us);
    }
    case EntryKind::column_delete:
      return add_delete(key.start_us, key.end_us);
    case EntryKind::row_delete:
    case EntryKind::family_delete:
      return add_delete_of_everything();
    case EntryKind::token: {
      int64_t until_us = 0;
      if (!parse_token_until(value, until_us)) {
        known = false;
        return;
      }
      tokens_until_us = std::max(tokens_until_us, until_us);
      return;
    }
  }
}

void TimeBounds::merge(const TimeBounds& other) {
  known = known && other.known;
  min_timestamp_us = std::min(min_timestamp_us, other.min_timestamp_us);
  max_timestamp_us = std::max(max_timestamp_us, other.max_timestamp_us);
  latest_expiry_us = std::max(latest_expiry_us, other.latest_expiry_us);
  any_without_expiry = any_without_expiry || other.any_without_expiry;
  delete_start_us = std::min(delete_start_us, other.delete_start_us);
  delete_end_us = std::max(delete_end_us, other.delete_end_us);
  tokens_until_us = std::max(tokens_until_us, other.tokens_until_us);
}

void encode_time_bounds(std::string& out, const TimeBounds& b) {
  if (!b.known) return put_u8(out, 0);
  const bool expiry = b.latest_expiry_us != INT64_MIN;
  uint8_t flags = kKnown;
  if (b.has_cells()) flags |= kCells;
  if (expiry) flags |= kExpiry;
  if (b.any_without_expiry) flags |= kWithoutExpiry;
  if (b.has_deletes()) flags |= kDeletes;
  if (b.has_tokens()) flags |= kTokens;
  put_u8(out, flags);
  if (b.has_cells()) put_interval(out, b.min_timestamp_us, b.max_timestamp_us);
  if (expiry) put_varint(out, zigzag(b.latest_expiry_us));
  if (b.has_deletes()) put_interval(out, b.delete_start_us, b.delete_end_us);
  if (b.has_tokens()) put_varint(out, zigzag(b.tokens_until_us));
}

bool decode_time_bounds(Reader& in, TimeBounds& out) {
  out = TimeBounds();
  const uint8_t flags = in.u8();
  if (!in.ok() || (flags & ~kAllFlags) != 0) return false;
  if ((flags & kKnown) == 0) {
    out.known = false;
    return flags == 0;
  }
  if ((flags & kCells) != 0 && !get_interval(in, out.min_timestamp_us, out.max_timestamp_us)) {
    return false;
  }
  if ((flags & kExpiry) != 0) out.latest_expiry_us = in.signed_varint();
  out.any_without_expiry = (flags & kWithoutExpiry) != 0;
  if ((flags & kDeletes) != 0 && !get_interval(in, out.delete_start_us, out.delete_end_us)) {
    return false;
  }
  if ((flags & kTokens) != 0) out.tokens_until_us = in.signed_varint();
  return in.ok();
}

}  // namespace cellar::engine
