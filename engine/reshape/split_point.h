// Chooses the row for a split without a given row: the row with about half of the bytes on disk on
// either side, according to the indexes of its tables; if there are too few blocks, the middle of
// the rows recently used.
#pragma once

#include <string>

#include "engine/tablet/tablet.h"

namespace cellar::engine {

// Returns a row after the tablet's first and before its end. FAILED_PRECONDITION if none is known.
// A plain call, bounded by kSplitCandidates and the number of tables. Data in memory is ignored.
Result<std::string> pick_split_row(const Tablet& tablet);

}  // namespace cellar::engine
