// Prints and verifies one table file (SSTable).
#pragma once

#include <optional>

#include "engine/inspect/dump.h"
#include "engine/model/types.h"
#include "io/base/result.h"
#include "io/disk/file.h"

namespace cellar::engine {

// Reads every byte. Damage is reported to `dump` and does not stop the rest; an error is a device
// error. `blob` is the id in the file's name; absent: that of the footer.
Async<Result<void>> dump_table(File& file, std::optional<BlobId> blob, DumpOptions options,
                               Dump& dump);

}  // namespace cellar::engine
