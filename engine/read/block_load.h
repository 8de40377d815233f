// Waits for the blocks of blocked iterators; the only place that does.
#pragma once

#include <vector>

#include "engine/iter/entry_iterator.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Starts all requests and resumes when all have completed. They must outlive this.
Async<void> load_blocks(std::vector<BlockRequest*> requests);

// Loads everything that `it` wants and resumes when it is loaded or has failed (resume() reports
// that). REQUIRES: `it` is blocked, is not moved meanwhile, and outlives this.
Async<void> load_blocks(EntryIterator& it);

}  // namespace cellar::engine
