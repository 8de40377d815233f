// When a set of cells is wholly dead, by its time bounds alone, and whether it may then be taken
// away without being read (SEMANTICS 3). Bounds that are not known say never.
#pragma once

#include <cstdint>

#include "engine/iter/time_bounds.h"
#include "engine/retention/family_retention.h"

namespace cellar::engine {

// The first microsecond of trusted time at which every cell of the set is dead by its age or its
// own expiry, whatever families they are of, and whichever open change is undone (so `firm` is
// firm); INT64_MAX when that cannot be said. A set without cells is dead from the start.
int64_t dead_from_us(const TableRetention& firm, const TimeBounds& bounds);

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

}  // namespace cellar::engine
