// Tables still on disk that are completely dead according to their bounds: which of them can be
// removed unread, and what the others wait for.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/tablet/tablet.h"

namespace cellar::engine {

struct DeadTable {
  Ref<TabletTable> table;
  int64_t dead_from_us = 0;  // every cell in it is dead from this time on
  bool goes = false;         // the margin is over, and it masks nothing
  Ref<TabletTable> masked;   // otherwise: an older table that may hold what it masks; null: none
};

// The dead tables by firm rules at trusted time `now_us`; newest run first.
std::vector<DeadTable> dead_tables(Tablet& tablet, int64_t now_us);

}  // namespace cellar::engine
