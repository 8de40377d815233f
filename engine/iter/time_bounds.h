// TimeBounds: what is known of the times in a set of entries (a block, a table, a memtable), so
// that a read or a collector can pass over the whole set.
//
// Bounds may be too wide, never too narrow. Bounds that are not known say so, and then nothing may
// be concluded from the other fields: "unknown" is never "expired" and never "outside the range".
#pragma once

#include <cstdint>
#include <string>

#include "engine/model/key.h"
#include "io/base/coding.h"

namespace cellar::engine {

struct TimeBounds {
  bool known = true;
  // Of cells; min > max: there are none.
  int64_t min_timestamp_us = INT64_MAX;
  int64_t max_timestamp_us = INT64_MIN;
  // Of cells with an own expiry; INT64_MIN: there are none.
  int64_t latest_expiry_us = INT64_MIN;
  bool any_without_expiry = false;
  // What delete markers and range deletes reach, [start, end), end INT64_MAX included; start > end:
  // there are none. A set with a delete that reaches into a range must not be pruned by that range.
  int64_t delete_start_us = INT64_MAX;
  int64_t delete_end_us = INT64_MIN;

  // Up to when the last of the tokens counts; INT64_MIN: there are none. Readers do not see tokens,
  // so this bounds no read; but a set with one that counts must not be taken away.
  int64_t tokens_until_us = INT64_MIN;

  static TimeBounds unknown() {
    TimeBounds b;
    b.known = false;
    return b;
  }
  bool has_cells() const { return min_timestamp_us <= max_timestamp_us; }
  bool has_deletes() const { return delete_start_us <= delete_end_us; }
  bool has_tokens() const { return tokens_until_us != INT64_MIN; }
  // A token in it may count at that moment.
  bool may_hold_tokens(int64_t now_us) const { return !known || tokens_until_us >= now_us; }

  void add_cell(int64_t timestamp_us, int64_t expire_at_us);
  void add_delete(int64_t start_us, int64_t end_us);
  void add_delete_of_everything() { add_delete(0, INT64_MAX); }
  // `value` is the entry's; one that is no value of its kind makes the bounds unknown.
  void add_entry(const ParsedKey& key, Bytes value);
  void merge(const TimeBounds& other);

  bool operator==(const TimeBounds&) const = default;
};

// See "Time bounds" in FORMATS.md. decode answers false for bytes that are none.
void encode_time_bounds(std::string& out, const TimeBounds& bounds);
bool decode_time_bounds(Reader& in, TimeBounds& out);

}  // namespace cellar::engine
