// Flush: writes the live cells of a tablet's memtable as a run of tables on disk, so that the
// tablet no longer needs the log before it.
//
// Order: freeze, wait until all of it is visible, write and seal the tables, open them, one
// manifest edit (adds the tables, advances the log spans), publish. Until the edit has succeeded
// nothing has changed: the tables are discarded on any earlier error. If the outcome of the edit is
// unknown, they stay on disk for the next start to decide, and the shard accepts no more writes.
#pragma once

#include <functional>

#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Resumes when everything committed before is in tables. One flush at a time per tablet; others
// wait. REQUIRES: the caller is inside tablet.gate().
Async<Result<void>> flush_tablet(Tablet& tablet);

// Runs the flushes one(0) to one(count - 1) of one shard, kFlushLanes at a time: the disk syncs
// several files in the time of one, and flushes that end together share the sync of the directory
// and the write to the manifest. Continues after an error and returns the first.
inline constexpr size_t kFlushLanes = 16;
Async<Result<void>> flush_in_lanes(ShardExecutor executor, size_t count,
                                   std::function<Async<Result<void>>(size_t)> one);

}  // namespace cellar::engine
