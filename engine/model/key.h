// The encoding of entry keys, whose memcmp order is the order of SEMANTICS 1.
//
// clang-format off
//   entry      := row 00 01 rest                  // row: 00 is written 00 FF, so a shorter row sorts first
//   rest       := 01 stamp                        // row delete
//               | 02 family 00 in_family
//               | 03 token_id 00 01 stamp         // an idempotency token; id escaped like the row
//   in_family  := 01 stamp                        // family delete
//               | 02 qualifier 00 01 in_column    // qualifier escaped like the row
//   in_column  := 01 stamp start end              // column delete of timestamps [start, end)
//               | 02 ts stamp                     // cell
//   stamp, ts  := 8 bytes big-endian, bits inverted   // newest first
//   start, end := 8 bytes big-endian
// clang-format on
//
// Markers thus precede what they may cover, tokens follow all other entries of their row, cells of
// a column are ordered newest timestamp first and, at one timestamp, latest commit first. Family
// names contain no 00 byte. These bytes are on disk: never renumber.
//
// Values: a cell's is described in cell_value below, a token's in model/token.h; markers have empty
// values.
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/types.h"
#include "io/base/bytes.h"

namespace cellar {

enum class EntryKind : uint8_t { row_delete, family_delete, column_delete, cell, token };

// ---- building; each appends to `out` ----
void append_row_prefix(std::string& out, Bytes row);  // row 00 01
void append_column_prefix(std::string& out, Bytes row, Bytes family,
                          Bytes qualifier);  // as above, up to in_column
void append_cell_suffix(std::string& out, int64_t timestamp_us, CommitStamp stamp);  // 02 ts stamp
void append_row_delete(std::string& out, Bytes row, CommitStamp stamp);
void append_family_delete(std::string& out, Bytes row, Bytes family, CommitStamp stamp);
void append_column_delete(std::string& out, Bytes row, Bytes family, Bytes qualifier,
                          CommitStamp stamp, int64_t start_us, int64_t end_us);
void append_cell(std::string& out, Bytes row, Bytes family, Bytes qualifier, int64_t timestamp_us,
                 CommitStamp stamp);
// `id`: see model/token.h. The prefix is the key up to the stamp.
void append_token_prefix(std::string& out, Bytes row, Bytes id);
void append_token(std::string& out, Bytes row, Bytes id, CommitStamp stamp);
// A token's key without its stamp.
Bytes token_prefix_of(Bytes token_key);
// The least key after every entry of the column.
void append_column_end(std::string& out, Bytes column_prefix);

std::string row_prefix(Bytes row);
// The least key after every entry of the row with this encoded prefix (row 00 01).
std::string row_prefix_end(Bytes encoded_row_prefix);
// The least key of a family in that row, and the least key after it. REQUIRES: no 00 in `family`.
void append_family_start(std::string& out, Bytes encoded_row_prefix, Bytes family);
void append_family_end(std::string& out, Bytes encoded_row_prefix, Bytes family);

// ---- parsing ----
// Views into the key; row and qualifier are still escaped (see decode_segment).
struct ParsedKey {
  EntryKind kind = EntryKind::cell;
  Bytes row_prefix;  // row 00 01
  // up to in_column; empty for a row delete, up to in_family for a family delete, up to the stamp
  // for a token
  Bytes column_prefix;
  Bytes escaped_row;
  Bytes family;
  Bytes escaped_qualifier;   // for a token: its id
  int64_t timestamp_us = 0;  // cell
  int64_t start_us = 0;      // column delete
  int64_t end_us = 0;
  CommitStamp stamp;
};
// False if the bytes are not an entry key (damage: the caller returns DATA_LOSS).
bool parse_key(Bytes key, ParsedKey& out);

// Length of `row 00 01` at the start of a key; 0 if there is none.
size_t row_prefix_size(Bytes key);
// Removes the escapes. Returns a view of `escaped` if there are none, else of `scratch`.
Bytes decode_segment(Bytes escaped, std::string& scratch);
// The row of an encoded prefix (row 00 01); returned as by decode_segment.
Bytes decode_row_prefix(Bytes encoded_row_prefix, std::string& scratch);

// ---- a cell's value ----
// clang-format off
//   flags: u8; bit 0: has its own expiry; bit 1: is a tombstone; the other bits must be 0
//   expire_at: zigzag varint of microseconds, if bit 0 is set
//   value: the rest; empty in a tombstone
// clang-format on
// A tombstone is a cell without its value. A merge writes it for a dead cell that still matters: it
// overwrites older cells at its timestamp as the cell did and is never visible.
inline constexpr int64_t kNoExpiry = INT64_MAX;
struct CellValue {
  int64_t expire_at_us = kNoExpiry;
  Bytes value;
  bool tombstone = false;
};
void append_cell_value(std::string& out, Bytes value, int64_t expire_at_us = kNoExpiry);
void append_tombstone(std::string& out, int64_t expire_at_us);
bool parse_cell_value(Bytes encoded, CellValue& out);

// ---- limits (SEMANTICS 1 and 2) ----
inline constexpr size_t kMaxRowKeyBytes = 4096;
inline constexpr size_t kMaxQualifierBytes = 16 * 1024;
inline constexpr size_t kMaxFamilyNameBytes = 64;
inline constexpr size_t kMaxTableNameBytes = 50;

}  // namespace cellar
