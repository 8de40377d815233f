// Verifies a whole data directory: every file by itself, then whether they make one store.
#pragma once

#include "engine/inspect/dump.h"
#include "io/base/result.h"
#include "io/disk/file.h"

namespace cellar::engine {

// `fs` is rooted at the data directory, which no node may be writing to. Problems: a damaged file,
// a blob that a tablet names and that is missing or of another size, a gap in a log, tablets of a
// table that leave rows out or overlap, states that cannot be read. Notes, which are no damage:
// files that the next start removes, files of others.
// An error is one of the device, or FAILED_PRECONDITION: the directory holds no store.
Async<Result<void>> verify_directory(FileSystem& fs, Dump& dump);

}  // namespace cellar::engine
