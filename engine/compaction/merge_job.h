// MergeJob: a flush or a compaction. Merges the inputs, drops what is dead, and writes tables.
//
// CellJudge decides what is dead, as in a read, and DropPolicy what follows from that
// (engine/retention/drop_policy.h), so an answer cannot depend on whether the job has run. Kept
// entries are copied byte for byte, except tombstones. The job drops
//   - cells that are dead according to the inputs and not needed by anything outside them. A cell
//     that may be needed leaves its tombstone: key and expiry without the value;
//   - delete markers that a newer marker of the inputs covers completely, and at the bottom all
//     delete markers and row-range deletes: nothing older is left to cover, and they do not cover
//     newer data. If some family counts versions, only deletes at or before the cut are dropped,
//     and only at the bottom. A merge of part of a run keeps all its range deletes: they cover rows
//     of its other tables;
//   - tokens that no longer count.
//
// It runs on its shard's loop in slices granted by the shard's Background, which end by the clock
// (io/loop/background.h), including the tails of its tables. Memory: one block per input, the
// blocks being written (TableWriter::kFlushBytes) and the write-behind of the blob writer. An entry
// is never split, so a slice with a cell of 10 MiB takes as long as that needs. The job ends with
// all outputs sealed, or with none: on failure or cancel() every output is abandoned or removed.
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

// Maximum entries of a slice, whatever the clock says. Large values count as several.
inline constexpr uint32_t kSliceEntries = 1024;
// Entries between two checks of the clock: some microseconds.
inline constexpr int64_t kEntriesPerClockLook = 16;

struct MergeStats {
  uint64_t entries_in = 0;
  uint64_t entries_out = 0;
  uint64_t tombstones_out = 0;  // of these
  uint64_t bytes_out = 0;       // of finished tables
  uint64_t cells_left = 0;      // cells in no output
  uint64_t bytes_left = 0;      // of keys and values in no output
};

class MergeJob {
 public:
  // `store` and `ids` must outlive the job.
  MergeJob(BlobStore& store, BlobIds& ids, MergePlan plan);
  MergeJob(const MergeJob&) = delete;
  MergeJob& operator=(const MergeJob&) = delete;

  // Call once. Returns the outputs in key order, possibly none. CANCELLED after cancel().
  Async<Result<std::vector<TableMeta>>> run();
  // run() ends soon with CANCELLED, unless it was about to end.
  void cancel() {
    cancelled_ = true;
    if (plan_.pace != nullptr) plan_.pace->finish_at_once();
  }
  const MergeStats& stats() const { return stats_; }

 private:
  void drop_range_deletes();
  Async<Result<void>> merge();
  Async<void> next_slice();
  void end_slice();
  double done() const;  // approximate, 0 to 1
  bool slice_over();
  Result<Step> merge_slice(Step step);
  Result<bool> keep(Bytes key);
  Async<Result<void>> prepare_writer();
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
  const IndexSetRef indexes_;
  std::unique_ptr<TableWriter> writer_;
  std::vector<TableMeta> outputs_;
  MergeStats stats_;
  std::optional<Background::Work> work_;  // if the plan has a background
  int64_t slice_left_ = 0;                // in entries
  int64_t look_at_ = 0;                   // value of slice_left_ at which the clock is checked
  bool cancelled_ = false;
  // State of the current entry.
  bool judged_ = false;
  bool keep_ = false;       // if judged
  bool cut_ = false;        // its row starts a new output
  bool tombstone_ = false;  // if kept: written as a tombstone
  std::string tombstone_value_;
};

}  // namespace cellar::engine
