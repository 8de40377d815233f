// Tables that are wholly dead by their bounds and still there: which of them can be taken away
// unread, and what the others wait for.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tablet/tablet.h"

namespace cellar::engine {

struct DeadTable {
  Ref<TabletTable> table;
  int64_t dead_from_us = 0;  // every cell in it is dead from here on
  bool goes = false;         // the margin is over, and it masks nothing
  Ref<TabletTable> masked;   // where not: an older one that may hold what it masks; null: none does
};

// By firm rules, at `now_us` of trusted time; newest run first.
std::vector<DeadTable> dead_tables(Tablet& tablet, int64_t now_us);

}  // namespace cellar::engine
