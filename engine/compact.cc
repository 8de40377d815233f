#include "engine/compact.h"

namespace cellar::engine {

Async<Result<bool>> compact_step(Tablet& /*tablet*/) { co_return false; }
Async<Result<void>> compact_fully(Tablet& /*tablet*/) { co_return Result<void>{}; }

}  // namespace cellar::engine
