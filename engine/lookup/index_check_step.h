// The comparison of an index with its table over one tablet, in steps (engine/index_check.h).
#pragma once

#include <cstddef>
#include <string>

#include "engine/index_check.h"
#include "engine/tablet/tablet.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Where the comparison of a tablet stands. Nothing of the tablet is held between two steps.
struct IndexCheckPlace {
  std::string index;  // name
  std::string row;    // forwards: the next row
  bool backwards = false;
  std::string position;  // backwards: of the last hit
  bool done = false;
};

// Compares some rows, or some hits, and adds them to `report`. A difference counts if it is there
// at kLooks moments. ABORTED: the tablet was altered or is gone. Errors of Engine::open_index.
// REQUIRES: the caller is inside tablet.gate().
Async<Result<void>> check_index_step(Tablet& tablet, IndexCheckPlace& place,
                                     IndexCheckReport& report);

}  // namespace cellar::engine
