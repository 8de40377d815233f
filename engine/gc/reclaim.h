// Reclaiming: what has died by itself leaves the disk though nothing else happens to its tablet.
//
// A table that is wholly dead and masks nothing is taken away by one edit of the manifest, unread.
// One that masks something goes in a merge with all that is older, or with all there is where
// versions count; past rules that are remembered for what is older than their end go in a merge of
// all runs.
//
// A dead cell in a living table waits for an ordinary merge, until what is overdue, dead for longer
// than the table's reclaim_within and the margin, takes more than dead_slack of what lives. Then
// the work is done that takes away the most dead bytes for what it writes
// (compaction/reclaim_picker.h), piece by piece, until the overdue bytes are within the slack. It
// begins as early before that as the whole queue of the shard asks for, by how fast such work went
// lately (compaction/reclaim_queue.h), and takes as much of the time as it needs to end in time,
// and of the disk at most reclaim_share (compaction/pace.h). How much is dead, and since when, is
// told by the tables' profiles and by samples (reclaim_estimate.h). What is decided by is gathered
// in reclaim_snapshot.h, and why something is still there is told from the same (reclaim_reason.h).
#pragma once

#include <cstdint>

#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// The trusted time at which there is something to reclaim next; INT64_MAX when nothing will be
// unless something changes.
int64_t reclaim_due_us(Tablet& tablet);

// Does what is due. REQUIRES: the caller is inside tablet.gate().
Async<Result<void>> reclaim(Tablet& tablet);

}  // namespace cellar::engine
