// A data directory in one page: tables, their tablets and files, and the logs, by the manifest.
// Reads the manifest and the names of files, not their contents; safe beside a running node, whose
// newest edit may be missing.
#pragma once

#include <ostream>
#include <string>

#include "engine/inspect/entry_filter.h"
#include "io/disk/file.h"

namespace cellar::engine {

// One object with --json, else text. FAILED_PRECONDITION: no data directory; DATA_LOSS: its
// manifest cannot be read.
Async<Result<void>> summarize_directory(FileSystem& fs, bool json, std::ostream& out);

// The filter for a table, by name or number, and a row. NOT_FOUND: the manifest has no such table.
Async<Result<EntryFilter>> make_filter(FileSystem& fs, std::string table,
                                       std::optional<std::string> row);

}  // namespace cellar::engine
