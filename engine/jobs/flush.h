// Flushing: what is alive in a tablet's memtable becomes a run of tables on disk, and the log
// before it is not needed any more by this tablet.
//
// Order: freeze, wait until all of it is visible, write and seal the tables, open them, one
// manifest edit (tables in, log spans forward), publish. Until the edit has gone through, nothing
// has happened: the tables are thrown away on any error before it. When it is not known whether the
// edit went through, they stay on disk for the next start to decide, and the shard takes no more
// writes.
#pragma once

#include <vector>

#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Resumes when everything committed before is in tables. One at a time a tablet, others wait.
// REQUIRES: the caller is inside tablet.gate().
Async<Result<void>> flush_tablet(Tablet& tablet);

// Flushes them all, kFlushLanes at a time: the disk makes several files durable in the time of one.
// Goes on after an error and answers the first; ends early where the shard takes no more writes.
// REQUIRES: as flush_tablet(), or nobody else uses them any more. They belong to one shard.
inline constexpr size_t kFlushLanes = 8;
Async<Result<void>> flush_all(std::vector<Tablet*> tablets);

}  // namespace cellar::engine
