// What a read wants of tables, so that they skip the rest: RowProbe, a row and its columns;
// ReadWindow, a range of keys; WantedTimes, a range of timestamps.
#pragma once

#include <string>
#include <vector>

#include "engine/iter/time_bounds.h"
#include "engine/model/key.h"
#include "engine/model/read_spec.h"
#include "engine/sstable/filter.h"
#include "io/base/bytes.h"

namespace cellar::engine {

// RowProbe: the query of a point read to a table's filters: the row and, if the read names its
// columns, the column prefixes of these and of the markers that may cover them.
//
// A column filter has a key for every entry of the table: the column prefix (model/key.h) of cells
// and column deletes, the family's prefix of family deletes, the row's prefix of row deletes, the
// token's prefix of tokens. A table is irrelevant to the named columns if its filter has none of:
// the columns, their families' prefixes, the row's prefix.
class RowProbe {
 public:
  RowProbe() = default;
  RowProbe(const RowProbe&) = delete;
  RowProbe& operator=(const RowProbe&) = delete;

  // Wants the whole row with this prefix (row 00 01), which must stay valid.
  void aim(Bytes row_prefix);
  // Wants only this column, and others that are added.
  void add_column(Bytes family, Bytes qualifier);
  // Wants only the entry with this key of the column filter, and others that are added.
  void add_key(Bytes key);

  Bytes row_prefix() const { return row_; }
  uint64_t hash() const { return row_hash_; }
  // Whether columns were named.
  bool has_columns() const { return !columns_.empty(); }

  // True if some(prefix, hash) is true for a column or for the prefix of a column's family.
  template <class F>
  bool any_column(F some) const {
    return any(columns_, some);
  }
  template <class F>
  bool any_family(F some) const {
    return any(families_, some);
  }

 private:
  struct Key {
    size_t begin;  // in keys_
    size_t bytes;
    uint64_t hash;
  };
  void add(std::vector<Key>& keys, size_t begin);
  template <class F>
  bool any(const std::vector<Key>& keys, F some) const {
    for (const Key& key : keys)
      if (some(Bytes(keys_).substr(key.begin, key.bytes), key.hash)) return true;
    return false;
  }

  Bytes row_;
  uint64_t row_hash_ = 0;
  std::string keys_;
  std::vector<Key> columns_;
  std::vector<Key> families_;
  std::string family_;  // last family added
};

// ReadWindow: the range of entries that a cursor over several row ranges currently wants from its
// sources. The cursor owns it; its iterators read it.
//
// An iterator may return `end` without searching for its next entry if nothing more lies inside:
// the index shows that a row ends with its block, and a table whose filter excludes the row is not
// read. It then calls leave() and has no position: to read outside, set another range and seek.
class ReadWindow {
 public:
  // Entries at or after `upper` are not wanted; with a `row`, neither are those it does not ask
  // for. Both must stay valid while they are set.
  void set(Bytes upper, const RowProbe* row) {
    upper_ = upper;
    row_ = row;
    left_ = false;
  }
  // Nothing at or after `key` is wanted.
  bool ends_before(Bytes key) const { return key >= upper_; }
  const RowProbe* row() const { return row_; }

  void leave() { left_ = true; }
  // Call before a seek of all sources.
  void enter() { left_ = false; }
  // A source has ended at the window, so the positions of the others say nothing about entries
  // outside.
  bool was_left() const { return left_; }

 private:
  Bytes upper_;
  const RowProbe* row_ = nullptr;
  bool left_ = false;
};

// WantedTimes: the timestamps that a read wants, which decide what tables and blocks it may skip.
//
// A set is skipped if it has neither a cell that the read may show nor a delete that covers one.
// Cells that share a timestamp are skipped together, so overwriting still works: whether a cell
// counts depends on the cells of its own timestamp and the deletes that cover it, and all of these
// are read. If versions are counted, newer cells matter too and are not skipped.
struct WantedTimes {
  TimeRange range;
  // Some family counts versions: cells newer than the range decide which cells in it are alive.
  bool newer_cells_count = false;

  bool everything() const {
    return range.start_us <= 0 && (newer_cells_count || range.end_us == kMaxTimestampUs);
  }
  // Nothing in the set can change the result.
  bool excludes(const TimeBounds& bounds) const {
    if (!bounds.known || everything()) return false;
    const bool open_end = newer_cells_count || range.end_us == kMaxTimestampUs;
    const bool no_cells = !bounds.has_cells() || bounds.max_timestamp_us < range.start_us ||
                          (!open_end && bounds.min_timestamp_us >= range.end_us);
    const bool no_deletes =
        !bounds.has_deletes() ||
        (bounds.delete_end_us != kMaxTimestampUs && bounds.delete_end_us <= range.start_us) ||
        (!open_end && bounds.delete_start_us >= range.end_us);
    return no_cells && no_deletes;
  }
};

}  // namespace cellar::engine
