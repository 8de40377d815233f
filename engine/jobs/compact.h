// Compaction: merges runs of a tablet into one, so that reads visit fewer runs and dead cells leave
// the disk. engine/compaction selects and merges; this component installs the result.
#pragma once

#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// One compaction, if the tablet is due for one. True if another may be due. REQUIRES: the caller is
// inside tablet.gate().
Async<Result<bool>> compact_step(Tablet& tablet);

// Merges neighbouring runs of the tablet: 1 + `count` of them, from index `first` on, newest first;
// both wrap around at the number of runs. For tests. REQUIRES: as above.
Async<Result<void>> compact_window(Tablet& tablet, size_t first, size_t count);

// The work was cancelled, or its subject changed: not a failure.
inline bool is_given_up(const Error& error) {
  return error.code == Errc::cancelled || error.code == Errc::aborted;
}

// The limits of a merge for reclaiming.
struct ReclaimPlace {
  double share = 0;               // minimum share of the time; 0: the table's reclaim_share
  int64_t end_by_us = INT64_MAX;  // trusted time by which it should end
};

// Rewrites one table of a run without its dead cells; no effect if the table was replaced. Paced as
// reclaiming (compaction/pace.h). REQUIRES: as above.
Async<Result<void>> rewrite_table(Tablet& tablet, BlobId blob, ReclaimPlace place);

// Rewrites one table with the entries of the table's present indexes and without those of dropped
// ones (build_indexes.h); together with its run where a range delete of the run may decide which of
// its cells are dead. No effect if the table was replaced. Paced as reclaiming. REQUIRES: as above.
Async<Result<void>> rewrite_for_indexes(Tablet& tablet, BlobId blob);

// Merges the run of that number and all older ones into one; UINT64_MAX: from the newest on. No
// effect if there are none or nothing would change. Paced as reclaiming. REQUIRES: as above.
Async<Result<void>> compact_runs_from(Tablet& tablet, uint64_t number, ReclaimPlace place);

// Merges all runs on disk into one. REQUIRES: the caller is inside tablet.gate().
Async<Result<void>> compact_fully(Tablet& tablet);

}  // namespace cellar::engine
