// ReadSource: one place where a tablet's entries are: a memtable, or a run of tables. The reader
// merges those that its request may concern.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/iter/iterator_arena.h"
#include "engine/iter/range_delete.h"
#include "engine/model/read_spec.h"
#include "engine/model/types.h"
#include "engine/sstable/wanted_times.h"
#include "io/base/check.h"

namespace cellar::engine {

class BlockPrefetch;
class ReadWindow;
class RowProbe;

// What a read will look at: entries whose keys lie in [lower, upper), and among them a time range.
// Sources use it to skip what cannot change the answer.
struct ReadScope {
  Bytes lower;  // of a row: row_prefix()
  Bytes upper;  // likewise, or greater than every key
  // Of a read of one row: what filters are asked, about the row with the prefix `lower`; null: the
  // read is of several rows.
  const RowProbe* probe = nullptr;
  TimeRange time_range;
  bool newer_cells_count = false;  // see WantedTimes
  WantedTimes times() const { return {time_range, newer_cells_count}; }
  // What is wanted of it at any moment, and what was loaded ahead for it. Null: all of it, nothing.
  ReadWindow* window = nullptr;
  BlockPrefetch* prefetch = nullptr;
};

class ReadSource {
 public:
  virtual ~ReadSource() = default;

  // An iterator over at least every entry that can change the answer for `scope`, in the arena;
  // null when there is none. What is left out must be left out soundly: a table may be skipped by
  // its time bounds only when it holds no delete, for a delete reaches cells of other tables; cells
  // that share a timestamp share the verdict, so overwriting is not disturbed. The views in `scope`
  // stay valid as long as the iterator.
  virtual EntryIterator* open(const ReadScope& scope, IteratorArena& arena) const = 0;

  // Adds to scope.prefetch, for its `place`, the block in which a read of `scope` would begin here,
  // unless none is needed. False when that block is not known yet, and what tells it was added.
  virtual bool prefetch(const ReadScope& /*scope*/, size_t /*place*/) const { return true; }

  // Row-range deletes count whatever else is skipped. Their number only grows.
  virtual const std::vector<StampedRange>& range_deletes() const = 0;
};

// All that a read looks into, newest first. Any number of cursors may share them.
using ReadSources = std::vector<std::unique_ptr<ReadSource>>;

// Where a reader takes its stamps: the newest commit of the tablet such that it and all before it
// are durable at their level.
class VisibleStamp {
 public:
  virtual ~VisibleStamp() = default;
  virtual CommitStamp visible_stamp() const = 0;
};

// Keeps what a cursor reads from going away; let go when the cursor is destroyed.
class ReadPin {
 public:
  virtual ~ReadPin() = default;
  // What it keeps is in the way of others, and something newer may be read in its place.
  virtual bool is_stale() const { return false; }
  // Keeps the newer instead, and answers its sources. REQUIRES: is_stale(); nobody refers to what
  // is kept.
  virtual const ReadSources& renew() { UNREACHABLE("a pin that is never stale is renewed"); }
  // Keeps nothing any more. REQUIRES: nobody refers to what is kept.
  virtual void drop() {}
};

}  // namespace cellar::engine
