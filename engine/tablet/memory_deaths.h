// Deaths in a tablet's memtables: bytes that are dead and not on disk. A memtable counts as a file
// (SEMANTICS 3): dead entries leave memory within the table's reclaim_within, by a flush, which
// writes only live ones.
#pragma once

#include <cstdint>

#include "engine/reclaim_figures.h"
#include "engine/tablet/tablet.h"

namespace cellar::engine {

// Lower bound of the first death in the memtables, by any cause. INT64_MAX: nothing will die.
int64_t first_memory_death_us(const Tablet& tablet);

// When the memtables should be flushed for that: after the margin, so that the flush omits what has
// aged, and early enough to leave most of reclaim_within for what follows. INT64_MAX: never.
int64_t memory_due_us(const Tablet& tablet);

// When the log should be cleared of the records of a memtable that was just flushed: after the
// first death among them, before or after the flush. INT64_MAX: never.
int64_t log_due_us(const Tablet& tablet, const Memtable& flushed);

// Moves what is dead by age or expiry in the memtables, about, from the live bytes of `figures` to
// the dead, and adds what will die to the forecast. `scale`: bytes on disk per byte in memory.
void add_memory_deaths(Tablet& tablet, double scale, ReclaimFigures& figures);

}  // namespace cellar::engine
