// MergeJob: a flush or a compaction. Merges the inputs, leaves out what is dead, writes tables.
//
// What is dead is decided by CellJudge, as in a read, and what follows from that by DropPolicy
// (engine/retention/drop_policy.h): so an answer cannot depend on whether the job has run. Kept
// entries are copied byte for byte, tombstones excepted. Left out are
//   - cells that are dead by what the inputs hold and that nothing outside them needs any more. Of
//   a
//     cell that something may need, its tombstone stays: key and expiry without the value;
//   - delete markers that a newer marker of the inputs covers wholly, and at the bottom all delete
//     markers and row-range deletes: nothing older is left to cover, and what is newer they do not
//     cover. Where some family counts versions, only those behind the cut. A merge of part of a
//     run keeps all its range deletes: they cover rows of the run's other tables.
//   - tokens that count no more.
//
// It runs on its shard's loop in slices that the shard's Background grants and that end by the
// clock (io/loop/background.h), the tails of its tables included; what it holds in memory is one
// block an input, the blocks being written (TableWriter::kFlushBytes) and the write-behind of the
// blob writer. An entry is never cut, so a slice with a cell of 10 MiB takes what that takes. It
// ends with all outputs sealed, or with none: on failure or cancel() every output is abandoned or
// removed.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/compaction/plan.h"
#include "engine/iter/merging_iterator.h"
#include "engine/read/cell_judge.h"
#include "engine/sstable/table_writer.h"
#include "engine/store/blob_store.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Entries of a slice at most, whatever the clock says. Large values count as several.
inline constexpr uint32_t kSliceEntries = 1024;
// The clock is looked at every so many: some microseconds.
inline constexpr int64_t kEntriesPerClockLook = 16;

struct MergeStats {
  uint64_t entries_in = 0;
  uint64_t entries_out = 0;
  uint64_t tombstones_out = 0;  // of them
  uint64_t bytes_out = 0;       // of finished tables
};

class MergeJob {
 public:
  // Both outlive the job.
  MergeJob(BlobStore& store, BlobIds& ids, MergePlan plan);
  MergeJob(const MergeJob&) = delete;
  MergeJob& operator=(const MergeJob&) = delete;

  // Once. The outputs in key order; none when nothing is left. CANCELLED after cancel().
  Async<Result<std::vector<TableMeta>>> run();
  // run() ends soon, with CANCELLED, unless it had all but ended.
  void cancel() {
    cancelled_ = true;
    if (plan_.pace != nullptr) plan_.pace->wake();
  }
  const MergeStats& stats() const { return stats_; }

 private:
  void drop_range_deletes();
  Async<Result<void>> merge();
  Async<void> next_slice();
  void end_slice();
  double done() const;  // 0 to 1, about
  bool slice_over();
  Result<Step> merge_slice(Step step);
  Result<bool> keep(Bytes key);
  Async<Result<void>> settle_writer();
  Async<Result<void>> open_writer();
  Async<Result<void>> close_writer();
  Async<void> undo();

  BlobStore& store_;
  BlobIds& ids_;
  MergePlan plan_;
  const DropPolicy cut_off_;
  MergingIterator merge_;
  RangeDeletes range_deletes_;
  CellJudge judge_;
  std::unique_ptr<TableWriter> writer_;
  std::vector<TableMeta> outputs_;
  MergeStats stats_;
  std::optional<Background::Work> work_;  // where the plan has a background
  int64_t slice_left_ = 0;                // entries,
  int64_t look_at_ = 0;                   // and at how many of them the clock is looked at
  bool cancelled_ = false;
  // The entry at hand.
  bool judged_ = false;
  bool keep_ = false;       // if judged
  bool cut_ = false;        // its row begins a new output
  bool tombstone_ = false;  // if kept: what is kept of it
  std::string tombstone_value_;
};

}  // namespace cellar::engine
