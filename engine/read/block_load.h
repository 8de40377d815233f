// The one place that awaits for blocked iterators.
#pragma once

#include <vector>

#include "engine/iter/entry_iterator.h"
#include "io/loop/async.h"

namespace cellar::engine {

// Starts them together, and resumes when all are told. They outlive this.
Async<void> load_wants(std::vector<BlockWant*> wants);

// Starts everything that `it` wants, together, and resumes when all of it is there (or has failed,
// which shows in resume()). REQUIRES: `it` is blocked, is not moved meanwhile, and outlives this.
Async<void> load_blocks(EntryIterator& it);

}  // namespace cellar::engine
