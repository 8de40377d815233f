// Memtable: the newest entries of one tablet, sorted, in memory (entry_tree.h), and the entries of
// its indexes (engine/index).
//
// Everything is in one arena that is freed with the memtable; a caller can free its blocks in
// slices (release()). One thread: writer and readers are on the same shard.
//
// Iterators may be kept across add() (entry_tree.h). A reader that wants a fixed set limits itself
// by stamp.
//
// The index entries of a cell are not made by the add() of the cell, but when a read through an
// index asks for them: an insert at a place of its own costs a write more than all else that an
// index adds to it, and a flush makes the entries from the cells. Up to kMostUnmade cells wait;
// then each add() makes the entries of the oldest one. A reader judges an entry by its cell.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/index/index_set.h"
#include "engine/iter/column_list.h"
#include "engine/iter/range_delete.h"
#include "engine/iter/time_bounds.h"
#include "engine/memtable/entry_tree.h"
#include "engine/model/mutation.h"
#include "io/base/arena.h"

namespace cellar::engine {

class Memtable {
 public:
  using Iterator = EntryTree::Iterator;

  // `indexes`: those whose entries it keeps; null: none. `blocks`: of its arena, see there.
  explicit Memtable(IndexSetRef indexes = nullptr, BlockPool* blocks = nullptr);
  Memtable(const Memtable&) = delete;
  Memtable& operator=(const Memtable&) = delete;

  // Copies. Returns false without a change if the key exists (a commit replayed twice). REQUIRES:
  // not frozen; a well-formed key.
  bool add(Bytes key, Bytes value);
  void add_range_delete(const RangeDelete& range, CommitStamp stamp);  // REQUIRES: not frozen
  // Records a commit, possibly without entries.
  void add_commit(CommitStamp stamp) { note_stamp(stamp); }
  // Ends writes: the contents for a flush are fixed.
  void freeze() { frozen_ = true; }
  bool frozen() const { return frozen_; }

  const EntryTree& tree() const { return tree_; }
  Iterator iterator() const { return tree_.iterator(); }

  bool empty() const { return entries() == 0 && ranges_.empty(); }
  bool has_commits() const { return min_stamp_ <= max_stamp_; }
  size_t entries() const { return tree_.size(); }
  size_t deletes() const { return deletes_; }  // of these: deletes of rows, families and columns
  // Memory in use, including the tree, the unused part of arena blocks, and what index entries that
  // are not made yet will take, in whole blocks.
  size_t bytes() const {
    return arena_.bytes() + range_bytes_ + unmade_bytes_ / Arena::kBlockBytes * Arena::kBlockBytes;
  }
  // Bytes of keys and values: the uncompressed size of a flush.
  size_t content_bytes() const { return content_bytes_; }
  // Over all commits; max < min if there are none.
  CommitStamp min_stamp() const { return min_stamp_; }
  CommitStamp max_stamp() const { return max_stamp_; }
  const TimeBounds& time_bounds() const { return bounds_; }
  const ColumnList& columns() const { return columns_; }
  // Of cells with their own expiry; INT64_MAX: none.
  int64_t earliest_expiry_us() const { return earliest_expiry_us_; }
  // Cells that replaced another cell of the memtable at the same timestamp.
  size_t overwrites() const { return overwrites_; }
  const std::vector<RangeTombstone>& range_deletes() const { return ranges_; }

  static constexpr size_t kMostUnmade = 256u << 10;

  bool has_index(uint64_t id) const { return index_of(id) < index_trees_.size(); }
  // Of the index: those that are made, and one for each cell whose entries are not. REQUIRES:
  // has_index().
  size_t index_entry_count(uint64_t id) const;
  // Cells that are in some index.
  uint64_t indexed_cells() const { return made_cells_ + unmade_.size(); }
  // Makes the entries of the first `cells` of these, 1 to 2 us for each entry, until `most` are
  // made, which it counts down; if `most` is not 0, those of at least one cell. True: all are made.
  // Allowed when frozen.
  bool make_index_entries(uint64_t cells, size_t& most);
  // The entries that are made; null: it has none of that index.
  const EntryTree* index_entries(uint64_t id) const;

  // Releases the memory at the end, for a caller that frees it in slices. No other method may be
  // called afterwards.
  std::vector<Arena::Block> release() { return arena_.release(); }

 private:
  void note_stamp(CommitStamp stamp);
  void note_cell(const CellValue& cell);
  size_t index_of(uint64_t id) const;
  void add_unmade(const ParsedKey& cell, const CellValue& value, EntryTree::Record record);
  size_t make_entries_of_oldest();

  Arena arena_;
  EntryTree tree_;
  EntryMaker index_maker_;
  struct IndexEntries {
    explicit IndexEntries(Arena& arena) : tree(arena) {}
    EntryTree tree;
    size_t unmade = 0;
  };
  std::vector<std::unique_ptr<IndexEntries>> index_trees_;  // one for each of index_maker_
  std::deque<EntryTree::Record> unmade_;  // cells whose entries are not made, in order of add()
  uint64_t made_cells_ = 0;
  size_t unmade_bytes_ = 0;  // what their entries will take, about
  size_t content_bytes_ = 0;
  size_t deletes_ = 0;
  size_t overwrites_ = 0;
  int64_t earliest_expiry_us_ = INT64_MAX;
  size_t range_bytes_ = 0;
  CommitStamp min_stamp_ = kMaxStamp;
  CommitStamp max_stamp_;
  TimeBounds bounds_;
  ColumnList columns_;
  std::vector<RangeTombstone> ranges_;
  std::multimap<CommitStamp, size_t> range_places_;  // index into ranges_
  bool frozen_ = false;
};

}  // namespace cellar::engine
