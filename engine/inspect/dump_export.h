// Prints and verifies one export file (engine/export).
#pragma once

#include "engine/inspect/dump.h"
#include "io/base/result.h"
#include "io/disk/file.h"

namespace cellar::engine {

// Reads every byte. Damage and a missing end are reported to `dump`; an error is a device error.
Async<Result<void>> dump_export(File& file, DumpOptions options, Dump& dump);

}  // namespace cellar::engine
