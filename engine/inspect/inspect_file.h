// Finds out what a file of a data directory is and prints or verifies it.
#pragma once

#include "engine/inspect/dump.h"
#include "io/base/result.h"
#include "io/disk/file.h"

namespace cellar::engine {

// By its magic first, then by its name. Damage, the file header's included, goes to
// dump.problem(); an error is one of the device or of the format: INVALID_ARGUMENT for a file that
// is none of ours, FAILED_PRECONDITION for one of a newer format.
Async<Result<void>> inspect_file(FileSystem& fs, std::string path, DumpOptions options, Dump& dump);

}  // namespace cellar::engine
