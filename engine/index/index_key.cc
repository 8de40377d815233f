#include "engine/index/index_key.h"

#include <algorithm>

#include "engine/model/key.h"
#include "io/base/coding.h"

namespace cellar::engine {
namespace {

constexpr size_t kNumberBytes = 8;
constexpr uint64_t kSignBit = uint64_t{1} << 63;

void append_time(std::string& out, int64_t timestamp_us) {
  put_be64(out, ~static_cast<uint64_t>(timestamp_us));
}

bool append_value(std::string& out, IndexType type, Bytes value) {
  if (type == IndexType::bytes) {
    append_row_prefix(out, value.substr(0, kIndexedValueBytes));
    return true;
  }
  if (value.size() != kNumberBytes) return false;
  put_be64(out, load_be64(value.data()) ^ kSignBit);
  return true;
}

bool take_segment(Bytes& in, Bytes& out) {
  const size_t size = row_prefix_size(in);
  if (size == 0) return false;
  out = in.substr(0, size);
  in.remove_prefix(size);
  return true;
}

bool take_number(Bytes& in, Bytes& out) {
  if (in.size() < kNumberBytes) return false;
  out = in.substr(0, kNumberBytes);
  in.remove_prefix(kNumberBytes);
  return true;
}

bool take_time(Bytes& in, int64_t& out) {
  Bytes bytes;
  if (!take_number(in, bytes)) return false;
  out = static_cast<int64_t>(~load_be64(bytes.data()));
  return out >= 0;
}

bool names_qualifier(const IndexSchema& index) {
  return !index.qualifier && !index.has(IndexPart::qualifier);
}

// As signed integers they compare as these unsigned ones.
uint64_t rank(Bytes number) { return load_be64(number.data()) ^ kSignBit; }

std::strong_ordering compare(Bytes a, Bytes b, IndexType type) {
  return type == IndexType::int64 ? rank(a) <=> rank(b) : a <=> b;
}

void append_part(std::string& out, const IndexSchema& index, IndexPart part, Bytes value) {
  if (part == IndexPart::value) {
    append_value(out, index.type, value);
  } else {
    append_row_prefix(out, value);
  }
}

// Bounds of the keys whose part is in the range; `prefix` precedes it.
IndexBounds bounds_of_part(const KeyPartRange& range, const IndexSchema& index, IndexPart part) {
  IndexBounds bounds;
  if (range.start) append_part(bounds.lower, index, part, *range.start);
  if (!range.end) return bounds;
  append_part(bounds.upper, index, part, *range.end);
  // Of a longer value only the beginning is in the key.
  const bool cut = part == IndexPart::value && index.type == IndexType::bytes &&
                   range.end->size() > kIndexedValueBytes;
  if (range.end_closed || cut) bounds.upper = prefix_successor(bounds.upper);
  return bounds;
}

bool is_single(const KeyPartRange& range) {
  return range.start && range.end && range.start == range.end && !range.start_open &&
         range.end_closed;
}

// Narrows `bounds`, whose keys begin with `prefix` followed by a time.
void narrow_by_time(IndexBounds& bounds, const std::string& prefix, const TimeRange& time) {
  bounds.lower = prefix;
  const bool open_end = time.end_us == kMaxTimestampUs;
  append_time(bounds.lower, open_end ? kMaxTimestampUs : time.end_us - 1);
  bounds.upper = prefix;
  append_time(bounds.upper, time.start_us);
  bounds.upper = prefix_successor(bounds.upper);
}

}  // namespace

bool is_indexed(const IndexSchema& index, Bytes value) {
  const bool of_number = index.type == IndexType::int64 && index.has(IndexPart::value);
  return !of_number || value.size() == kNumberBytes;
}

bool append_index_key(std::string& out, const IndexSchema& index, Bytes row, Bytes qualifier,
                      int64_t timestamp_us, Bytes value) {
  for (const IndexPart part : index.parts) {
    if (part == IndexPart::value && !append_value(out, index.type, value)) return false;
    if (part == IndexPart::time) append_time(out, timestamp_us);
    if (part == IndexPart::qualifier) out.append(qualifier);
  }
  out.append(row);
  if (names_qualifier(index)) out.append(qualifier);
  if (!index.has(IndexPart::time)) append_time(out, timestamp_us);
  return true;
}

bool parse_index_key(Bytes key, const IndexSchema& index, IndexKey& out) {
  out = {};
  bool good = true;
  for (const IndexPart part : index.parts) {
    if (part == IndexPart::time) {
      good = good && take_time(key, out.timestamp_us);
    } else if (part == IndexPart::qualifier) {
      good = good && take_segment(key, out.qualifier);
    } else if (index.type == IndexType::int64) {
      good = good && take_number(key, out.value);
    } else {
      good = good && take_segment(key, out.value);
    }
  }
  good = good && take_segment(key, out.row);
  if (names_qualifier(index)) good = good && take_segment(key, out.qualifier);
  if (!index.has(IndexPart::time)) good = good && take_time(key, out.timestamp_us);
  return good && key.empty();
}

bool contains(const KeyPartRange& range, Bytes value, IndexType type) {
  if (range.start) {
    const auto order = compare(value, *range.start, type);
    if (order < 0 || (order == 0 && range.start_open)) return false;
  }
  if (!range.end) return true;
  const auto order = compare(value, *range.end, type);
  return order < 0 || (order == 0 && range.end_closed);
}

IndexBounds bounds_of(const IndexReadSpec& spec, const IndexSchema& index) {
  IndexBounds bounds;
  const IndexPart first = index.parts.front();
  const auto& range = first == IndexPart::value ? spec.values : spec.qualifiers;
  if (first == IndexPart::time) {
    if (spec.time) narrow_by_time(bounds, "", *spec.time);
  } else if (range) {
    bounds = bounds_of_part(*range, index, first);
    if (spec.time && index.has(IndexPart::time) && is_single(*range)) {
      narrow_by_time(bounds, std::string(bounds.lower), *spec.time);
    }
  }
  if (spec.after.empty()) return bounds;
  if (spec.reversed) {
    if (bounds.upper.empty() || spec.after < bounds.upper) bounds.upper = spec.after;
  } else {
    bounds.lower = std::max(bounds.lower, spec.after + '\0');
  }
  return bounds;
}

const std::string& end_of_index_keys() {
  static const std::string end(kMaxQualifierBytes + 1, '\xff');
  return end;
}

std::string index_entry_value(int64_t expire_at_us) {
  std::string out;
  if (expire_at_us != kNoExpiry) put_be64(out, static_cast<uint64_t>(expire_at_us));
  return out;
}

std::optional<int64_t> index_entry_expiry(Bytes value) {
  if (value.empty()) return kNoExpiry;
  if (value.size() != kNumberBytes) return std::nullopt;
  return static_cast<int64_t>(load_be64(value.data()));
}

}  // namespace cellar::engine
