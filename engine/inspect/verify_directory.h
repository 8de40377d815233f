// Verifies a whole data directory: every file, then their consistency.
#pragma once

#include "engine/inspect/dump.h"
#include "io/base/result.h"
#include "io/disk/file.h"

namespace cellar::engine {

// `fs` is rooted at the data directory, to which no node may write meanwhile. Problems: a damaged
// file, a blob named by a tablet that is missing or has another size, a log that a start would
// refuse or that has a gap, tablets of a table that omit rows or overlap, unreadable states. Notes,
// which are not damage: files that the next start removes, foreign files, the torn tail of a log.
// Errors: of the device, or FAILED_PRECONDITION: the directory has no store.
struct VerifiedFiles {
  uint64_t files = 0;  // whose contents were read
  uint64_t bytes = 0;  // of tables on disk
  uint64_t tables = 0, tablets = 0;
};
Async<Result<VerifiedFiles>> verify_directory(FileSystem& fs, Dump& dump);

}  // namespace cellar::engine
