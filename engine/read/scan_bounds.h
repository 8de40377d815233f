// ScanBounds: the rows of a cursor as ranges of encoded keys: sorted, disjoint, within a tablet's
// rows. One range with short keys is stored without allocation.
#pragma once

#include <absl/container/inlined_vector.h>

#include <cstdint>
#include <optional>
#include <string>

#include "engine/model/read_spec.h"
#include "engine/sstable/key_buffer.h"
#include "io/base/bytes.h"

namespace cellar::engine {

class ScanBounds {
 public:
  // The encoded keys of a range are [lower, upper).
  struct Range {
    Bytes lower;
    Bytes upper;
    bool single_row = false;  // exactly one row
  };

  // The part of `rows` in rows [start, end); empty `end`: unbounded.
  ScanBounds(const RowSet& rows, Bytes start, Bytes end);
  ScanBounds(const ScanBounds&) = delete;
  ScanBounds& operator=(const ScanBounds&) = delete;

  bool empty() const { return places_.empty(); }
  size_t size() const { return places_.size(); }
  // The i-th range in key order.
  Range range(size_t i) const {
    const Place& place = places_[i];
    const char* lower = keys_.view().data() + place.begin;
    return {{lower, place.lower_bytes},
            place.open ? after_every_key() : Bytes(lower + place.lower_bytes, place.upper_bytes),
            place.single_row};
  }
  Bytes lower() const { return range(0).lower; }  // REQUIRES: !empty()
  Bytes upper() const { return range(places_.size() - 1).upper; }
  // Rows [first_row, end_row); empty: unbounded. Views of `scratch` or valid as long as this.
  // REQUIRES: !empty().
  Bytes first_row(std::string& scratch) const;
  std::optional<Bytes> end_row(std::string& scratch) const;
  // Exactly one row.
  bool single_row() const { return single_row_; }

 private:
  struct Place {
    size_t begin;
    uint32_t lower_bytes;
    uint32_t upper_bytes;
    bool open;  // unbounded above
    bool single_row;
  };
  static Bytes after_every_key();
  void add(Bytes start, Bytes end, bool open);
  void append(Bytes bytes) { keys_.replace_tail(keys_.size(), bytes); }
  uint32_t append_prefix(Bytes row);

  KeyBuffer keys_;  // of all places, lower and upper alternating
  absl::InlinedVector<Place, 1> places_;
  bool single_row_ = false;
};

}  // namespace cellar::engine
