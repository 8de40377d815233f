#include "engine/model/key.h"

#include <algorithm>
#include <bit>

#include "engine/model/key_in_row.h"
#include "io/base/coding.h"

namespace cellar {
namespace {

// Bytes of the grammar in key.h. On disk: never renumber.
constexpr char kEscape = '\0';
constexpr char kTerminator = '\x01';  // 00 01 ends a segment
constexpr char kEscapedNul = '\xff';  // 00 FF stands for 00
constexpr char kMarker = '\x01';
constexpr char kContent = '\x02';
constexpr char kToken = '\x03';
constexpr size_t kStampBytes = 8;

void append_segment(std::string& out, Bytes segment) {
  while (true) {
    const size_t nul = segment.find(kEscape);
    if (nul == Bytes::npos) break;
    out.append(segment.substr(0, nul + 1));
    out.push_back(kEscapedNul);
    segment.remove_prefix(nul + 1);
  }
  out.append(segment);
  out.push_back(kEscape);
  out.push_back(kTerminator);
}

void append_inverted(std::string& out, uint64_t v) { put_be64(out, ~v); }

void append_family_prefix(std::string& out, Bytes row, Bytes family) {
  append_row_prefix(out, row);
  out.push_back(kContent);
  out.append(family);
  out.push_back(kEscape);
}

// The first 00 byte; null if there is none. Most inputs are short and were just assembled from
// pieces: word loads work then, but a vector load that spans two pieces stalls.
const char* find_nul(const char* p, const char* end) {
  constexpr uint64_t kOnes = 0x0101010101010101;
  constexpr ptrdiff_t kShortBytes = 64;
  const char* const far = end - p > kShortBytes ? p + kShortBytes : end;
  for (; far - p >= 8; p += 8) {
    const auto word = load_le<uint64_t>(p);
    const uint64_t nuls = (word - kOnes) & ~word & (kOnes << 7);
    if (nuls != 0) return p + std::countr_zero(nuls) / 8;
  }
  if (far != end)
    return static_cast<const char*>(std::memchr(p, kEscape, static_cast<size_t>(end - p)));
  for (; p < end; ++p)
    if (*p == kEscape) return p;
  return nullptr;
}

// Length of an escaped segment without its terminator; npos if it has none or has an invalid 00.
// `plain` is set if nothing in it is escaped.
size_t segment_size(Bytes in, bool& plain) {
  plain = true;
  const char* const begin = in.data();
  const char* const end = begin + in.size();
  const char* p = begin;
  while (p < end) {
    p = find_nul(p, end);
    if (p == nullptr || p + 1 == end) return Bytes::npos;
    if (p[1] == kTerminator) return static_cast<size_t>(p - begin);
    if (p[1] != kEscapedNul) return Bytes::npos;
    plain = false;
    p += 2;
  }
  return Bytes::npos;
}

size_t segment_size(Bytes in) {
  bool plain = true;
  return segment_size(in, plain);
}

uint64_t inverted_at(const char* p) { return ~load_be64(p); }

bool parse_stamp_only(Bytes rest, EntryKind kind, ParsedKey& out) {
  if (rest.size() != kStampBytes) return false;
  out.kind = kind;
  out.stamp = CommitStamp{inverted_at(rest.data())};
  return true;
}

// `rest` of `key` follows the tag.
bool parse_token(Bytes key, Bytes rest, ParsedKey& out) {
  const size_t size = segment_size(rest);
  if (size == Bytes::npos) return false;
  out.escaped_qualifier = rest.substr(0, size);
  rest.remove_prefix(size + 2);
  out.column_prefix = key.substr(0, key.size() - rest.size());
  return parse_stamp_only(rest, EntryKind::token, out);
}

// Timestamps are never negative: a set top bit is invalid.
bool to_timestamp(uint64_t raw, int64_t& out) {
  out = static_cast<int64_t>(raw);
  return out >= 0;
}

bool parse_in_column(Bytes rest, ParsedKey& out) {
  if (rest.empty()) return false;
  const char* p = rest.data() + 1;
  if (rest[0] == kContent && rest.size() == 1 + 8 + kStampBytes) {
    out.kind = EntryKind::cell;
    out.stamp = CommitStamp{inverted_at(p + 8)};
    return to_timestamp(inverted_at(p), out.timestamp_us);
  }
  if (rest[0] == kMarker && rest.size() == 1 + kStampBytes + 8 + 8) {
    out.kind = EntryKind::column_delete;
    out.stamp = CommitStamp{inverted_at(p)};
    return to_timestamp(load_be64(p + 8), out.start_us) &&
           to_timestamp(load_be64(p + 16), out.end_us);
  }
  return false;
}

}  // namespace

void append_row_prefix(std::string& out, Bytes row) { append_segment(out, row); }

void append_column_prefix(std::string& out, Bytes row, Bytes family, Bytes qualifier) {
  append_family_prefix(out, row, family);
  out.push_back(kContent);
  append_segment(out, qualifier);
}

void append_cell_suffix(std::string& out, int64_t timestamp_us, CommitStamp stamp) {
  out.push_back(kContent);
  append_inverted(out, static_cast<uint64_t>(timestamp_us));
  append_inverted(out, stamp.value());
}

void append_row_delete(std::string& out, Bytes row, CommitStamp stamp) {
  append_row_prefix(out, row);
  out.push_back(kMarker);
  append_inverted(out, stamp.value());
}

void append_family_delete(std::string& out, Bytes row, Bytes family, CommitStamp stamp) {
  append_family_prefix(out, row, family);
  out.push_back(kMarker);
  append_inverted(out, stamp.value());
}

void append_column_delete(std::string& out, Bytes row, Bytes family, Bytes qualifier,
                          CommitStamp stamp, int64_t start_us, int64_t end_us) {
  append_column_prefix(out, row, family, qualifier);
  out.push_back(kMarker);
  append_inverted(out, stamp.value());
  put_be64(out, static_cast<uint64_t>(start_us));
  put_be64(out, static_cast<uint64_t>(end_us));
}

void append_cell(std::string& out, Bytes row, Bytes family, Bytes qualifier, int64_t timestamp_us,
                 CommitStamp stamp) {
  append_column_prefix(out, row, family, qualifier);
  append_cell_suffix(out, timestamp_us, stamp);
}

std::string row_prefix(Bytes row) {
  std::string out;
  out.reserve(row.size() + 3);  // a point read's upper bound has one 00
  append_row_prefix(out, row);
  return out;
}

void append_token_prefix(std::string& out, Bytes row, Bytes id) {
  append_row_prefix(out, row);
  out.push_back(kToken);
  append_segment(out, id);
}

void append_token(std::string& out, Bytes row, Bytes id, CommitStamp stamp) {
  append_token_prefix(out, row, id);
  append_inverted(out, stamp.value());
}

Bytes token_prefix_of(Bytes token_key) {
  return token_key.substr(0, token_key.size() - std::min(kStampBytes, token_key.size()));
}

void append_column_end(std::string& out, Bytes column_prefix) {
  out.append(column_prefix);
  out.push_back(kContent + 1);
}

void append_family_start(std::string& out, Bytes encoded_row_prefix, Bytes family) {
  out.append(encoded_row_prefix);
  out.push_back(kContent);
  out.append(family);
  out.push_back(kEscape);
}

void append_family_end(std::string& out, Bytes encoded_row_prefix, Bytes family) {
  append_family_start(out, encoded_row_prefix, family);
  out.back() = kEscape + 1;
}

std::string row_prefix_end(Bytes encoded_row_prefix) {
  // Entries continue after `row 00 01`; a longer row with this prefix continues with 00 FF.
  std::string out(encoded_row_prefix);
  out.back() = static_cast<char>(kTerminator + 1);
  return out;
}

size_t row_prefix_size(Bytes key, bool& plain) {
  const size_t n = segment_size(key, plain);
  return n == Bytes::npos ? 0 : n + 2;
}

size_t row_prefix_size(Bytes key) {
  bool plain = true;
  return row_prefix_size(key, plain);
}

bool parse_key(Bytes key, ParsedKey& out) {
  const size_t row_size = segment_size(key);
  if (row_size == Bytes::npos) return false;
  KeyInRow parsed;
  const bool is_key = parse_key_in_row(key, row_size + 2, parsed);
  out = static_cast<const ParsedKey&>(parsed);  // drops the additional fields
  return is_key;
}

bool parse_key_in_row(Bytes key, size_t row_prefix_bytes, KeyInRow& out) {
  out.escaped_row = key.substr(0, row_prefix_bytes - 2);
  out.row_prefix = key.substr(0, row_prefix_bytes);
  out.column_prefix = out.family = out.escaped_qualifier = {};
  Bytes rest = key.substr(row_prefix_bytes);
  if (rest.empty()) return false;
  if (rest[0] == kMarker) return parse_stamp_only(rest.substr(1), EntryKind::row_delete, out);
  if (rest[0] == kToken) return parse_token(key, rest.substr(1), out);
  if (rest[0] != kContent) return false;
  rest.remove_prefix(1);

  const char* const family_end = find_nul(rest.data(), rest.data() + rest.size());
  if (family_end == nullptr) return false;
  const auto family_size = static_cast<size_t>(family_end - rest.data());
  out.family = rest.substr(0, family_size);
  rest.remove_prefix(family_size + 1);
  if (rest.empty()) return false;
  if (rest[0] == kMarker) {
    out.column_prefix = key.substr(0, key.size() - rest.size());
    return parse_stamp_only(rest.substr(1), EntryKind::family_delete, out);
  }
  if (rest[0] != kContent) return false;
  rest.remove_prefix(1);

  const size_t qualifier_size = segment_size(rest, out.plain_qualifier);
  if (qualifier_size == Bytes::npos) return false;
  out.escaped_qualifier = rest.substr(0, qualifier_size);
  rest.remove_prefix(qualifier_size + 2);
  out.column_prefix = key.substr(0, key.size() - rest.size());
  return parse_in_column(rest, out);
}

Bytes decode_segment(Bytes escaped, std::string& scratch) {
  size_t nul = escaped.find(kEscape);
  if (nul == Bytes::npos) return escaped;
  scratch.clear();
  while (nul != Bytes::npos) {
    scratch.append(escaped.substr(0, nul + 1));
    escaped.remove_prefix(std::min(nul + 2, escaped.size()));  // the FF after it
    nul = escaped.find(kEscape);
  }
  scratch.append(escaped);
  return scratch;
}

Bytes decode_row_prefix(Bytes encoded_row_prefix, std::string& scratch) {
  return decode_segment(encoded_row_prefix.substr(0, encoded_row_prefix.size() - 2), scratch);
}

namespace {

constexpr uint8_t kKeyHasExpiry = 1;
constexpr uint8_t kTombstone = 2;

void put_head(std::string& out, uint8_t flags, int64_t expire_at_us) {
  const bool expires = expire_at_us != kNoExpiry;
  put_u8(out, flags | (expires ? kKeyHasExpiry : 0));
  if (expires) put_varint(out, zigzag(expire_at_us));
}

}  // namespace

void append_cell_value(std::string& out, Bytes value, int64_t expire_at_us) {
  put_head(out, 0, expire_at_us);
  out.append(value);
}

void append_tombstone(std::string& out, int64_t expire_at_us) {
  put_head(out, kTombstone, expire_at_us);
}

bool parse_cell_value(Bytes encoded, CellValue& out) {
  if (encoded.empty()) return false;
  const auto flags = static_cast<uint8_t>(encoded[0]);
  encoded.remove_prefix(1);
  if (flags == 0) {
    out.expire_at_us = kNoExpiry;
    out.value = encoded;
    out.tombstone = false;
    return true;
  }
  if ((flags & ~(kKeyHasExpiry | kTombstone)) != 0) return false;
  Reader reader(encoded);
  out.expire_at_us = (flags & kKeyHasExpiry) != 0 ? reader.signed_varint() : kNoExpiry;
  out.value = reader.rest();
  out.tombstone = (flags & kTombstone) != 0;
  return reader.ok() && (!out.tombstone || out.value.empty());
}

}  // namespace cellar
