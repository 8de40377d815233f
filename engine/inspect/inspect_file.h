// Determines the kind of a file of a data directory and prints or verifies it.
#pragma once

#include "engine/inspect/dump.h"
#include "io/base/result.h"
#include "io/disk/file.h"

namespace cellar::engine {

// The magic determines the kind, then the name. Damage, also of the file header, is reported to
// dump.problem(). Errors: of the device; INVALID_ARGUMENT for a file that is not Cellar's;
// FAILED_PRECONDITION for another format.
Async<Result<void>> inspect_file(FileSystem& fs, std::string path, DumpOptions options, Dump& dump);

}  // namespace cellar::engine
