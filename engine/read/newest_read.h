// NewestRead: the newest versions of a few named columns of one row. It opens sources from the
// newest on, and leaves the rest closed as soon as these cannot change the result. It seeks each
// column, so that the length of the row does not count.
//
//   NewestRead read(schema, retention);
//   switch (read.run({columns, versions, sources, row, stamp, now_us})) {
//     case done:     read.cells() is the result
//     case blocked:  load what collect() names, then resume()
//     case unfit:    read the row in another way
//   }
//
// A source may stay closed if for every column, by the source's bounds, either
//   - a delete of the column, family or row covers every stamp of the source; or
//   - its stamps are below those of all cells judged so far, and it has no cell of the column
//     (SourceBounds::columns), or the column has all its versions, or its family keeps no older
//     ones, down to timestamp T, and the source has no cell above T. A cell's fate depends on
//     nothing after it in key order (retention/column_judge.h), and a delete covers lesser stamps
//     only. Deletes of such a source cover cells of closed sources only, which are not wanted.
//
// Invariants
//   1. The cells are those that a merge of all sources gives.
//   2. Nothing is given before the result is complete: an unfit read leaves no trace.
//   3. An evaluation examines at most kMostEntries entries. There is one each time that the number
//      of open sources has doubled.
//
// Unfit are damaged blocks and malformed entries (the cursor reports them), and reads of more than
// kMostEntries entries or kMostBytes bytes. Covering row-range deletes are the caller's concern.
//
// One shard. Keeps its memory from read to read; no source is referenced after clear().
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/filter/named_columns.h"
#include "engine/iter/iterator_arena.h"
#include "engine/iter/merging_iterator.h"
#include "engine/model/read_spec.h"
#include "engine/model/schema.h"
#include "engine/read/cell_judge.h"
#include "engine/read/source.h"
#include "engine/sstable/wanted_entries.h"

namespace cellar::engine {

bool is_one_row(const RowSet& rows);
// One row, cells only: no notes. Its filter is not looked at.
bool is_read_of_one_row(const ReadSpec& spec);
// Entries of the row have keys in [lower, upper). Both are overwritten.
void set_row_bounds(Bytes row, std::string& lower, std::string& upper);
// A row-range delete of some source, committed up to `stamp`, covers the row.
bool is_row_covered(const ReadSources& sources, Bytes row, CommitStamp stamp);

// The newest versions of columns that a read of one row asks for.
struct WantedColumns {
  // The filter's, or `only`; null: of every column, or it asks for something else.
  const NamedColumns* columns = nullptr;
  uint32_t versions = 0;  // of each; 0: all
  bool every_column = false;
};
// `only`: the columns that the caller of a read without a filter takes; null: all. REQUIRES:
// is_read_of_one_row().
WantedColumns wanted_columns(const ReadSpec& spec, const NamedColumns* only = nullptr);

class NewestRead {
 public:
  static constexpr int64_t kMostEntries = 512;
  static constexpr size_t kMostBytes = 32 << 10;
  // Blocks that an evaluation may wait for before it is given up.
  static constexpr int kMostWaits = 16;
  // Entries stepped over before a seek.
  static constexpr int kStepsBeforeSeek = 8;

  struct Request {
    // The columns wanted, or all that the row may have (RowColumns). They and the row must stay
    // valid until the result is used.
    const NamedColumns& columns;
    bool every_column = false;   // the latter
    uint32_t versions = 0;       // 0: all
    const ReadSources& sources;  // newest first
    Bytes row;
    CommitStamp stamp;      // the visible one
    int64_t now_us = 0;     // trusted time, not before the stamp
    bool must_fit = false;  // no limits; unfit is only what is damaged
  };
  enum class Outcome : uint8_t { done, blocked, unfit };

  // Both must outlive it.
  NewestRead(const TableSchema& schema, const TableRetention& retention)
      : retention_(retention), judge_(schema, retention, no_ranges_) {}

  Outcome run(const Request& request);
  // REQUIRES: blocked; what collect() named is loaded, or has failed.
  Outcome resume();
  void collect(std::vector<BlockRequest*>& requests) { blocked_->collect(requests); }
  // Closes the sources and keeps the result.
  void close();
  void clear();

  size_t cells() const { return cells_.size(); }
  CellView cell(size_t i) const;  // valid until the next run() or clear()
  uint64_t entries_read() const { return entries_; }
  uint32_t runs_opened() const { return runs_opened_; }
  // Some source was left closed. REQUIRES: done, and not closed.
  bool stopped() const { return next_ < sources_->size(); }
  // The last time at which these cells are all alive if nothing is committed. REQUIRES: no family
  // has an earlier era.
  int64_t alive_until_us() const { return alive_until_us_; }

 private:
  struct Cell {
    size_t column = 0;
    int64_t timestamp_us = 0;
    size_t at = 0;  // of the value, in values_
    size_t bytes = 0;
  };
  // What an evaluation has found of a column.
  struct Column {
    bool complete = false;
    uint32_t taken = 0;
    int64_t last_us = INT64_MIN;  // timestamp of its last judged cell
    CommitStamp covered_below;    // by deletes of all of it; 0: none
  };

  Outcome open_more();
  void take_opened(Step step);
  Outcome settle();
  Outcome evaluate();
  Step judge_row(Step step);
  Step judge_markers(size_t number, Step step);
  Step judge_column(size_t number, Step step);
  void take(size_t number);
  bool may_have(const SourceBounds& bounds, size_t number) const;
  bool rest_may_stay_closed() const;
  Step forward(Bytes target, Step step);
  Step next();
  CellState judge();
  Outcome wait_for(EntryIterator& it);
  bool at_row(Step step) const;

  const TableRetention& retention_;
  const RangeDeletes no_ranges_;
  CellJudge judge_;
  IteratorArena iterators_;
  MergingIterator merge_;
  std::vector<EntryIterator*> opened_;  // those that have the row, newest first
  EntryIterator* opening_ = nullptr;    // while it seeks the row
  EntryIterator* at_ = nullptr;         // the only one of opened_, or merge_
  EntryIterator* blocked_ = nullptr;
  RowProbe probe_;
  ReadWindow window_;
  ReadScope scope_;
  std::string lower_;  // keys of the row are [lower_, upper_)
  std::string upper_;
  std::vector<std::string> prefixes_;  // of the columns
  std::vector<std::string> family_starts_;

  const NamedColumns* wanted_ = nullptr;
  uint32_t versions_ = 0;
  const ReadSources* sources_ = nullptr;
  Bytes row_;
  CommitStamp stamp_;
  int64_t now_us_ = 0;
  bool must_fit_ = false;
  size_t next_ = 0;    // the next source to open
  size_t enough_ = 1;  // evaluate with so many of opened_
  int waits_ = 0;
  uint64_t entries_ = 0;
  uint32_t runs_opened_ = 0;
  int64_t alive_until_us_ = INT64_MAX;
  int64_t left_ = 0;     // entries of the evaluation
  bool judged_ = false;  // the present entry; fate_ is its state
  CellState fate_ = CellState::visible;
  std::vector<Column> columns_;
  CommitStamp least_stamp_;           // of the cells judged
  CommitStamp family_covered_below_;  // as Column::covered_below, of the present family
  std::vector<Cell> cells_;
  std::string values_;
};

}  // namespace cellar::engine
