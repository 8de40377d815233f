// ScanRanges: the ranges of rows that a cursor is to read, in the order in which it reads them, and
// the one it is in. Its sources are told which one that is (read_window.h), so that none of them
// looks for what lies behind; and the first blocks of the ranges that lie ahead are loaded together
// with a block that the cursor waits for.
//
// Belongs to a cursor, which is not movable: the sources keep pointers to what is in here.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "engine/filter/named_columns.h"
#include "engine/read/scan_bounds.h"
#include "engine/read/source.h"
#include "engine/sstable/block_prefetch.h"
#include "engine/sstable/read_window.h"
#include "engine/sstable/row_probe.h"

namespace cellar::engine {

// So many of a read's ranges have their device reads under way together, at most.
inline constexpr size_t kRowsTogether = 32;

class ScanRanges {
 public:
  // Those of `spec` in rows [start, end) of a tablet; in the first one. enter() is called before
  // the first seek.
  ScanRanges(const ReadSpec& spec, Bytes start, Bytes end);
  ScanRanges(const ScanRanges&) = delete;
  ScanRanges& operator=(const ScanRanges&) = delete;

  bool empty() const { return bounds_.empty(); }
  // All of them, in key order.
  const ScanBounds& bounds() const { return bounds_; }
  // What sources are opened with: all ranges, the window and the prefetch.
  ReadScope& scope() { return scope_; }

  // Of single rows these columns are wanted alone; null: all are. Before the sources are opened;
  // outlives this.
  void want_only(const NamedColumns* columns);

  // REQUIRES: !empty(), here and below.
  ScanBounds::Range current() const { return in_order(place_); }
  bool is_last() const { return place_ + 1 == bounds_.size(); }

  // The window becomes that of current().
  void enter();
  // Enters the next one; false: this was the last.
  bool advance();
  // Enters the first that does not end before `key`, this one perhaps; false: all do. Forwards.
  bool advance_to(Bytes key) { return key < current().upper || find_ahead(key); }
  // Enters the first that does not begin behind `key`, this one perhaps; false: all do. Reversed.
  bool recede_to(Bytes key) { return key >= current().lower || find_behind(key); }

  // Before a seek of all sources.
  void seeking() { window_.enter(); }
  // Some source has ended for the window's sake: where the others stand says nothing about the
  // ranges to come.
  bool was_left() const { return window_.was_left(); }

  // Appends the first blocks of the ranges ahead, of which `rows_wanted` rows may still be wanted
  // (0: any number), of kRowsTogether ranges at most.
  void collect_ahead(const ReadSources& sources, uint64_t rows_wanted,
                     std::vector<BlockWant*>& wants);
  // What was loaded ahead is of sources that go.
  void forget_ahead();

 private:
  ScanBounds::Range in_order(size_t i) const {
    return bounds_.range(reversed_ ? bounds_.size() - 1 - i : i);
  }
  // `probe` asks for what is wanted of that row.
  void aim(RowProbe& probe, Bytes row_prefix) const;
  bool find_ahead(Bytes key);
  bool find_behind(Bytes key);

  const bool reversed_;
  ScanBounds bounds_;
  size_t place_ = 0;  // as in_order() counts
  ReadScope scope_;
  const NamedColumns* columns_ = nullptr;
  RowProbe probe_;  // for the row of current(), if it is a single one
  ReadWindow window_;
  std::unique_ptr<BlockPrefetch> prefetch_;  // of several ranges
  size_t prefetched_to_ = 0;                 // as in_order() counts
};

}  // namespace cellar::engine
