// Sealing: a tablet stops taking writes and comes to rest, so that a reshape (reshape.h) may put
// other tablets in its place. Reads go on.
//
// Order: conditions under way finish (row_conditions.h), writes are refused, commits on their way
// become visible, what is in memory is flushed, and the edit lock is taken: from here on nothing of
// the tablet changes, in memory or on disk, until it is unsealed or gone.
#pragma once

#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// ABORTED when it was unsealed meanwhile or is gone; what the flush answers. On an error the tablet
// takes writes again.
Async<Result<void>> seal_tablet(Tablet& tablet);

// It takes writes again. Also while seal_tablet() is under way, which then fails when it gets to
// see it.
void unseal_tablet(Tablet& tablet);

}  // namespace cellar::engine
