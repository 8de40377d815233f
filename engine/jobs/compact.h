// Compacting: runs of a tablet are merged into one, so that reads look at fewer and dead cells
// leave the disk. What is merged, and how, is engine/compaction's; here its result is installed.
#pragma once

#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// One compaction, if the tablet is due for one. True when it may be due for another.
// REQUIRES: the caller is inside tablet.gate().
Async<Result<bool>> compact_step(Tablet& tablet);

// Merges `count` neighbours among the tablet's runs, from the first-newest on; both are brought
// into the range that there is. For tests. REQUIRES: as above.
Async<Result<void>> compact_window(Tablet& tablet, size_t first, size_t count);

// What a merge that reclaims is given.
struct ReclaimPlace {
  double share = 0;               // of the time, at least; 0: the table's reclaim_share
  int64_t end_by_us = INT64_MAX;  // trusted time by which it should end
};

// Writes one table of a run anew, without what has died in it; nothing happens when it is gone.
// At the pace of reclaiming (compaction/pace.h). REQUIRES: as above.
Async<Result<void>> rewrite_table(Tablet& tablet, BlobId blob, ReclaimPlace place);

// Merges the run of that number and all that are older into one; UINT64_MAX: from the newest on.
// Nothing happens when there are none, or nothing is to be had by it. At the pace of reclaiming.
// REQUIRES: as above.
Async<Result<void>> compact_runs_from(Tablet& tablet, uint64_t number, ReclaimPlace place);

// Merges everything on disk into one run. REQUIRES: the caller is inside tablet.gate().
Async<Result<void>> compact_fully(Tablet& tablet);

}  // namespace cellar::engine
