// Flush: writes the live cells of a tablet's memtable as a run of tables on disk, so that the
// tablet no longer needs the log before it.
//
// Order: freeze, wait until all of it is visible, write and seal the tables, open them, one
// manifest edit (adds the tables, advances the log spans), publish. Until the edit has succeeded
// nothing has changed: the tables are discarded on any earlier error. If the outcome of the edit is
// unknown, they stay on disk for the next start to decide, and the shard accepts no more writes.
#pragma once

#include <vector>

#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Resumes when everything committed before is in tables. One flush at a time per tablet; others
// wait. REQUIRES: the caller is inside tablet.gate().
Async<Result<void>> flush_tablet(Tablet& tablet);

// Flushes all tablets, kFlushLanes at a time, because the disk syncs several files in the time of
// one. Continues after an error and returns the first; ends early if the shard accepts no more
// writes. REQUIRES: as flush_tablet(), or the tablets are not in use. All belong to one shard.
inline constexpr size_t kFlushLanes = 8;
Async<Result<void>> flush_all(std::vector<Tablet*> tablets);

}  // namespace cellar::engine
