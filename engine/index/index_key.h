// The keys of index entries, whose memcmp order is the order of the index (SEMANTICS 11):
//
// clang-format off
//   key      := part* row [qualifier] [ts]
//   part     := value          // of type bytes: its first kIndexedValueBytes bytes, as a segment
//             | int64          // 8 bytes big-endian, sign bit inverted
//             | ts             // 8 bytes big-endian, bits inverted: newest first
//             | qualifier
//   row, qualifier, value      // segments: 00 is written 00 FF, and 00 01 ends it (model/key.h)
// clang-format on
//
// The qualifier follows the row unless it is a part or the index is on one column; the timestamp is
// last unless it is a part. So every key names one cell. These bytes are on disk.
//
// Example, index on f:q by value: cell (r, f:q, 5) -> "v" has the key v 00 01 r 00 01 ~5.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/model/index_read_spec.h"
#include "engine/model/index_schema.h"
#include "io/base/bytes.h"

namespace cellar::engine {

// Views into a key; segments include their end.
struct IndexKey {
  Bytes value;      // of a value part
  Bytes row;        // a row prefix (model/key.h)
  Bytes qualifier;  // empty: the index's column
  int64_t timestamp_us = 0;
};

// False if the cell is not in the index: its value is not 8 bytes, and the index is of int64.
bool is_indexed(const IndexSchema& index, Bytes value);
// False if it is not. `row` and `qualifier` are segments.
bool append_index_key(std::string& out, const IndexSchema& index, Bytes row, Bytes qualifier,
                      int64_t timestamp_us, Bytes value);
// False if the bytes are no key of the index.
bool parse_index_key(Bytes key, const IndexSchema& index, IndexKey& out);

// Whether the range has the value, in the order of the type. REQUIRES: both have 8 bytes if that is
// int64.
bool contains(const KeyPartRange& range, Bytes value, IndexType type = IndexType::bytes);

// Keys of all entries that meet the spec's conditions on key parts, and lie behind spec.after, are
// in [lower, upper); others may be too. An empty upper bound is none.
struct IndexBounds {
  std::string lower;
  std::string upper;
  bool empty() const { return !upper.empty() && lower >= upper; }
};
IndexBounds bounds_of(const IndexReadSpec& spec, const IndexSchema& index);

// Greater than every key: a segment is shorter, and so are numbers.
const std::string& end_of_index_keys();

// An entry's value: when its cell expires by itself, 8 bytes big-endian; empty: never. In a
// memtable, whose entries stay when their cell is written again, it is not known: one byte.
inline constexpr Bytes kExpiryNotKnown = "?";
std::string index_entry_value(int64_t expire_at_us);
// kNoExpiry if it has none; nullopt: not known.
std::optional<int64_t> index_entry_expiry(Bytes value);

}  // namespace cellar::engine
