// When a set of cells is completely dead according to its time bounds, and whether it may then be
// removed without being read (SEMANTICS 3). Unknown bounds mean never.
#pragma once

#include <cstdint>

#include "engine/iter/time_bounds.h"
#include "engine/retention/family_retention.h"

namespace cellar::engine {

// The first microsecond of trusted time at which every cell of the set is dead by its age or its
// own expiry, for all families and whichever open change is undone (so `firm` is firm), and at
// which no token of the set counts; INT64_MAX if unknown. A set without cells and tokens is dead
// from the start.
int64_t dead_from_us(const TableRetention& firm, const TimeBounds& bounds);

// Cells with earlier timestamps, of any family, are dead at `now_us` and from then on, unless they
// have an expiry of their own; INT64_MIN: there is no such bound.
int64_t dead_before_us(const TableRetention& retention, int64_t now_us);

// Approximate part of the set's `bytes` that is dead in this way by `at_us`, assuming times evenly
// distributed between the first and the last; exact at both ends. Of cells with their own expiry
// only the last one is known: until then they count as alive.
uint64_t dead_bytes(const TableRetention& firm, const TimeBounds& bounds, uint64_t bytes,
                    int64_t at_us);
// When the first of the cells that dead_bytes() counts dies; INT64_MAX: none does.
int64_t first_death_us(const TableRetention& firm, const TimeBounds& bounds);

// Data outside the set: in other tables and in memtables.
struct Beside {
  bool any_expiry = true;  // it may include a cell with its own expiry
  // Timestamps of the cells in data older than the set.
  int64_t older_min_us = 0;
  int64_t older_max_us = INT64_MAX;
};

// Whether removing the set, completely dead as of `now_us`, changes no answer: either all cells
// that could reappear, which are as old or older, are past every age too; or it overwrote nothing,
// and versions do not count. REQUIRES: it has no delete.
bool masks_nothing(const TableRetention& firm, const TimeBounds& bounds, const Beside& beside,
                   int64_t now_us);

// When that becomes true; INT64_MAX: unknown.
int64_t first_masking_nothing_us(const TableRetention& firm, const TimeBounds& bounds,
                                 const Beside& beside);

}  // namespace cellar::engine
