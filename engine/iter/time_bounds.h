// TimeBounds: bounds of the times in a set of entries (a block, a table, a memtable), by which a
// read or gc can skip the whole set.
//
// Bounds may be too wide, never too narrow. Unknown bounds say so, and then no other field may be
// used: "unknown" is never "expired" and never "outside the range".
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/key.h"
#include "io/base/coding.h"

namespace cellar::engine {

struct TimeBounds {
  bool known = true;
  // Of cells; min > max: none.
  int64_t min_timestamp_us = INT64_MAX;
  int64_t max_timestamp_us = INT64_MIN;
  // Of cells with their own expiry; INT64_MIN: none.
  int64_t latest_expiry_us = INT64_MIN;
  bool any_without_expiry = false;
  // The times covered by delete markers and range deletes, [start, end), end INT64_MAX included;
  // start > end: none. A set with a delete that overlaps a range must not be skipped for that
  // range.
  int64_t delete_start_us = INT64_MAX;
  int64_t delete_end_us = INT64_MIN;

  // Last time at which a token counts; INT64_MIN: none. Readers do not see tokens, so this
  // restricts no read; but a set with a token that still counts must not be removed.
  int64_t tokens_until_us = INT64_MIN;

  static TimeBounds unknown() {
    TimeBounds b;
    b.known = false;
    return b;
  }
  bool has_cells() const { return min_timestamp_us <= max_timestamp_us; }
  bool has_deletes() const { return delete_start_us <= delete_end_us; }
  bool has_tokens() const { return tokens_until_us != INT64_MIN; }
  // Whether a token in the set may count at that time.
  bool may_hold_tokens(int64_t now_us) const { return !known || tokens_until_us >= now_us; }

  void add_cell(int64_t timestamp_us, int64_t expire_at_us);
  void add_delete(int64_t start_us, int64_t end_us);
  void add_delete_of_everything() { add_delete(0, INT64_MAX); }
  // `value` belongs to the entry; an invalid value makes the bounds unknown.
  void add_entry(const ParsedKey& key, Bytes value);
  void merge(const TimeBounds& other);

  bool operator==(const TimeBounds&) const = default;
};

// See "Time bounds" in FORMATS.md. decode returns false for invalid bytes.
void encode_time_bounds(std::string& out, const TimeBounds& bounds);
bool decode_time_bounds(Reader& in, TimeBounds& out);

}  // namespace cellar::engine
