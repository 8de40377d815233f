// Reclaiming: removes expired data from disk even if nothing else happens to its tablet.
//
// A completely dead table that masks nothing is removed by one edit of the manifest, unread. One
// that masks something is removed in a merge with all older runs, or with all runs if versions
// count; past rules remembered for data older than their end are removed in a merge of all runs.
//
// A dead cell in a living table waits for an ordinary merge until overdue bytes, dead for longer
// than the table's reclaim_within and the margin, exceed dead_slack of the live bytes. Then the
// work that removes most dead bytes for what it writes (gc/reclaim_picker.h) is done, piece by
// piece, until the overdue bytes are within the slack. It starts earlier as the shard's queue
// requires, according to the speed of recent work (gc/reclaim_queue.h), takes as much of the time
// as it needs to end in time, and at most reclaim_share of the disk's write rate
// (compaction/pace.h). The amount and time of death come from the tables' profiles and from samples
// (reclaim_estimate.h). reclaim_reason.h gathers the input of the decisions and explains from it
// why data is still on disk.
#pragma once

#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Does the work that is due, and notes its outcome in the tablet's ReclaimAttempt. No effect on a
// tablet that is being dropped.
Async<Result<void>> reclaim(Tablet& tablet);

}  // namespace cellar::engine
