// ReadSource: one place of a tablet's entries: a memtable or a run of tables. The reader merges
// those that are relevant to its request.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/iter/column_list.h"
#include "engine/iter/iterator_arena.h"
#include "engine/iter/range_delete.h"
#include "engine/model/read_spec.h"
#include "engine/model/types.h"
#include "engine/sstable/wanted_entries.h"
#include "io/base/check.h"

namespace cellar::engine {

class BlockPrefetch;
class EntryTree;
class ReadWindow;
class RowProbe;
class TableReader;

// What a read will examine: entries with keys in [lower, upper) and a time range. Sources use it to
// skip entries that cannot change the result.
struct ReadScope {
  Bytes lower;  // row_prefix() of a row
  Bytes upper;  // row_prefix() of a row, or greater than every key
  // For a read of one row: the query to filters about the row with prefix `lower`; null: several
  // rows.
  const RowProbe* probe = nullptr;
  TimeRange time_range;
  bool newer_cells_count = false;  // see WantedTimes
  WantedTimes times() const { return {time_range, newer_cells_count}; }
  // The range wanted at the moment, and blocks loaded ahead. Null: everything; none.
  ReadWindow* window = nullptr;
  BlockPrefetch* prefetch = nullptr;
};

// Bounds of everything in a source, by which it may stay closed; may be too wide, never too narrow.
struct SourceBounds {
  bool known = false;
  int64_t max_timestamp_us = INT64_MAX;  // of cells; INT64_MIN: none
  CommitStamp max_stamp = kMaxStamp;     // of cells and deletes
  bool any_expiry = true;                // some cell has its own
  const ColumnList* columns = nullptr;   // of cells; null or unknown: any
};

class ReadSource {
 public:
  virtual ~ReadSource() = default;

  virtual SourceBounds bounds() const { return {}; }
  virtual bool is_run() const { return false; }  // of tables on disk

  // Makes an iterator over at least every entry that can change the result for `scope`, in the
  // arena; null if there is none. Skipping must be sound: a table may be skipped by its time bounds
  // only if it has no delete, because a delete covers cells of other tables; cells that share a
  // timestamp are skipped together, so overwriting still works. The views in `scope` must stay
  // valid as long as the iterator.
  virtual EntryIterator* open(const ReadScope& scope, IteratorArena& arena) const = 0;

  // Adds the first block of a read of `scope` to scope.prefetch, for its `place`, unless none is
  // needed. False if that block is not yet known and the part that names it was added.
  virtual bool prefetch(const ReadScope& /*scope*/, size_t /*place*/) const { return true; }

  // For ExpectedRead: the table whose range of keys has the entries with that prefix, of a row; the
  // tree of a memtable. Null: there is none.
  virtual const TableReader* table_of(Bytes /*row_prefix*/) const { return nullptr; }
  virtual const EntryTree* tree() const { return nullptr; }

  // Row-range deletes apply whatever else is skipped. Their number only grows.
  virtual const std::vector<RangeTombstone>& range_deletes() const = 0;
};

// All sources of a read, newest first. Any number of cursors may share them.
using ReadSources = std::vector<std::unique_ptr<ReadSource>>;

// Supplies a reader's stamps: the newest commit of the tablet such that it and all earlier ones
// have reached their durability level.
class VisibleStamp {
 public:
  virtual ~VisibleStamp() = default;
  virtual CommitStamp visible_stamp() const = 0;
};

// Keeps a cursor's sources alive until the cursor is destroyed.
class ReadPin {
 public:
  virtual ~ReadPin() = default;
  // The pinned version is obsolete and in the way, and a newer one may be read instead.
  virtual bool is_stale() const { return false; }
  // What is pinned may not be read further: its schema is not in force any more.
  virtual bool must_reopen() const { return false; }
  // Pins the newer version instead and returns its sources. REQUIRES: is_stale(); the old sources
  // are not referenced.
  virtual const ReadSources& renew() { UNREACHABLE("a pin that is never stale is renewed"); }
  // Releases the pin. REQUIRES: the sources are not referenced.
  virtual void drop() {}
};

}  // namespace cellar::engine
