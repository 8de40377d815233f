// When a set of cells is wholly dead, by its time bounds alone, and whether it may then be taken
// away without being read (SEMANTICS 3). Bounds that are not known say never.
#pragma once

#include <cstdint>

#include "engine/iter/time_bounds.h"
#include "engine/retention/family_retention.h"

namespace cellar::engine {

// The first microsecond of trusted time at which every cell of the set is dead by its age or its
// own expiry, whatever families they are of, and whichever open change is undone (so `firm` is
// firm), and at which no token of the set counts; INT64_MAX when that cannot be said. A set without
// either is dead from the start.
int64_t dead_from_us(const TableRetention& firm, const TimeBounds& bounds);

// About how many of the set's `bytes` belong to cells that are dead so by `at_us`, taking times of
// writing as even between the first and the last; exact at either end. Of cells with an expiry of
// their own only the last is known: until then they count as alive.
uint64_t dead_bytes(const TableRetention& firm, const TimeBounds& bounds, uint64_t bytes,
                    int64_t at_us);
// When the first of those that dead_bytes() counts dies; INT64_MAX: none does.
int64_t first_death_us(const TableRetention& firm, const TimeBounds& bounds);

// What lies beside the set: in other tables and in memtables.
struct Beside {
  bool any_expiry = true;  // a cell with an expiry of its own may be among it
  // Of the cells of what is older than the set.
  int64_t older_min_us = 0;
  int64_t older_max_us = INT64_MAX;
};

// The set, wholly dead as of `now_us`, masks nothing: its going changes no answer. Either all that
// could be revived, which is as old or older, is past every age too; or it overwrote nothing, and
// versions do not count. REQUIRES: it holds no delete.
bool masks_nothing(const TableRetention& firm, const TimeBounds& bounds, const Beside& beside,
                   int64_t now_us);

// From when on that is so; INT64_MAX: that cannot be said.
int64_t first_masking_nothing_us(const TableRetention& firm, const TimeBounds& bounds,
                                 const Beside& beside);

}  // namespace cellar::engine
