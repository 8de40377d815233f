// ScanRanges: the ranges of rows of a cursor in reading order, and the current one. Its sources
// know the current range (sstable/wanted_entries.h), so that they do not search beyond it; the
// first blocks of later ranges are loaded together with a block that the cursor waits for.
//
// Belongs to a cursor, which is not movable: the sources keep pointers into this.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/filter/named_columns.h"
#include "engine/read/scan_bounds.h"
#include "engine/read/source.h"
#include "engine/sstable/read_ahead.h"
#include "engine/sstable/wanted_entries.h"

namespace cellar::engine {

// Maximum number of ranges of a read with device reads in flight together.
inline constexpr size_t kRowsTogether = 32;

class ScanRanges {
 public:
  // The ranges of `spec` in rows [start, end) of a tablet, at the first one. Call enter() before
  // the first seek.
  ScanRanges(const ReadSpec& spec, Bytes start, Bytes end);
  ScanRanges(const ScanRanges&) = delete;
  ScanRanges& operator=(const ScanRanges&) = delete;

  bool empty() const { return bounds_.empty(); }
  // All ranges, in key order.
  const ScanBounds& bounds() const { return bounds_; }
  // The scope for opening sources: all ranges, the window and the prefetch.
  ReadScope& scope() { return scope_; }

  // Of single rows only these columns are wanted; null: all. Call before the sources are opened;
  // must outlive this.
  void want_only(const NamedColumns* columns);

  // REQUIRES: !empty(), also for the methods below.
  ScanBounds::Range current() const { return in_order(place_); }
  bool is_last() const { return place_ + 1 == bounds_.size(); }

  // Sets the window to current().
  void enter();
  // Enters the next range; false: there is none.
  bool advance();
  // Enters the first range that ends after `key`, possibly the current one; false: there is none.
  // Forwards.
  bool advance_to(Bytes key) { return key < current().upper || find_ahead(key); }
  // Enters the first range that does not start after `key`, possibly the current one; false: there
  // is none. Reversed.
  bool recede_to(Bytes key) { return key >= current().lower || find_behind(key); }

  // Call before a seek of all sources.
  void seeking() { window_.enter(); }
  // A source has ended at the window: the positions of the others say nothing about later ranges.
  bool was_left() const { return window_.was_left(); }

  // Appends the first blocks of later ranges, at most kRowsTogether, of which `rows_wanted` rows
  // may still be wanted (0: any number).
  void collect_ahead(const ReadSources& sources, uint64_t rows_wanted,
                     std::vector<BlockRequest*>& requests);
  // Drops prefetched blocks of sources that are being closed.
  void forget_ahead();

 private:
  ScanBounds::Range in_order(size_t i) const {
    return bounds_.range(reversed_ ? bounds_.size() - 1 - i : i);
  }
  // Sets `probe` to query the wanted part of that row.
  void aim(RowProbe& probe, Bytes row_prefix) const;
  bool find_ahead(Bytes key);
  bool find_behind(Bytes key);

  const bool reversed_;
  ScanBounds bounds_;
  size_t place_ = 0;  // in in_order() numbering
  ReadScope scope_;
  const NamedColumns* columns_ = nullptr;
  RowProbe probe_;  // for the row of current(), if it is a single row
  ReadWindow window_;
  std::unique_ptr<BlockPrefetch> prefetch_;  // if there are several ranges
  size_t prefetched_to_ = 0;                 // in in_order() numbering
};

}  // namespace cellar::engine
