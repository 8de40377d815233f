// What dies in a tablet's memtables: bytes that are dead and not on disk. A memtable counts as a
// file (SEMANTICS 3): what has died in it leaves memory within the table's reclaim_within, by a
// flush, which writes only what lives.
#pragma once

#include <cstdint>

#include "engine/reclaim_figures.h"
#include "engine/tablet/tablet.h"

namespace cellar::engine {

// When something in the memtables may first have died, by whatever cause: never later than it did.
// INT64_MAX: nothing will, as things are.
int64_t first_memory_death_us(const Tablet& tablet);

// When the memtables are to be flushed for that: the margin is over by then, so that the flush
// leaves out what has aged, and most of reclaim_within is left for what follows. INT64_MAX: never.
int64_t memory_due_us(const Tablet& tablet);

// When the log is to be cleared of the memtable's records, which were flushed just now: after the
// first death among them, whether that was before the flush or comes after it. INT64_MAX: never.
int64_t log_due_us(const Tablet& tablet, const Memtable& flushed);

// Takes what is dead by age or expiry in the memtables, about, from the live bytes of `figures` to
// the dead. `scale`: what a byte there will take on disk.
void add_memory_deaths(Tablet& tablet, double scale, ReclaimFigures& figures);

}  // namespace cellar::engine
