// Where to cut a tablet, when nobody says: at the row that has about half of its bytes on disk on
// either side, seen from the indexes of its tables; where they are too few blocks to tell, at the
// middle of the rows lately used.
#pragma once

#include <string>

#include "engine/tablet/tablet.h"

namespace cellar::engine {

// A row after the tablet's first and before its end. FAILED_PRECONDITION when none is known. A
// plain call, bounded by kSplitCandidates and the number of tables. What is in memory is not looked
// at.
Result<std::string> pick_split_row(const Tablet& tablet);

}  // namespace cellar::engine
