// Reads the rows of a binary file of `cellar export` (engine/export).
#pragma once

#include <cstdio>
#include <memory>

#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

// A block is returned only after its checksum was verified; damage is DATA_LOSS and ends the file.
// A file without its end is DATA_LOSS after its last whole block; so is a file with bytes after its
// end. FAILED_PRECONDITION: not an export file.
std::unique_ptr<RecordSource> binary_source(std::FILE* file);

}  // namespace cellar::cli
