// Reclaiming: what has died by itself leaves the disk though nothing else happens to its tablet.
//
// A table that is wholly dead and masks nothing is taken away by one edit of the manifest, unread.
// One that masks something, and past rules that are remembered for what is older than their end,
// are dealt with by a merge of all runs, after which neither is there any more.
//
// A dead cell in a living table waits for an ordinary merge, until what is overdue, dead for longer
// than the table's reclaim_within and the margin, takes more than dead_slack of what lives. Then
// the worst run is written anew, or, where versions count or expiries of their own may be among the
// cells, all runs are merged: only at the bottom may such cells leave without a trace. How much is
// dead is estimated from the bounds of each table (retention/dead_table.h): by age alone, where
// each family has an age that kills.
#pragma once

#include <cstdint>

#include "engine/tablet.h"
#include "io/runtime/async.h"

namespace cellar::engine {

// The trusted time at which there is something to reclaim next; INT64_MAX when nothing will be
// unless something changes.
int64_t reclaim_due_us(Tablet& tablet);

// What lies dead on a tablet's disk, about, as of now.
struct DeadFigures {
  uint64_t dead_bytes = 0;
  uint64_t overdue_bytes = 0;  // of these: for longer than reclaim_within and the margin
  // When the one that is dead for longest died; INT64_MAX: none is dead.
  int64_t oldest_death_us = INT64_MAX;
};
DeadFigures dead_figures(Tablet& tablet);

// Does what is due. REQUIRES: the caller is inside tablet.gate().
Async<Result<void>> reclaim(Tablet& tablet);

}  // namespace cellar::engine
