// The rows of a file of `cellar export` in its binary form (engine/export).
#pragma once

#include <cstdio>
#include <memory>
#include <string>

#include "net/cli/transfer/record_source.h"

namespace cellar::cli {

// Nothing of a block is handed out before its checksum was found right; damage is DATA_LOSS and
// ends the file. A file without its end is DATA_LOSS too, after its last whole block.
std::unique_ptr<RecordSource> binary_source(std::FILE* file);

// The description that such a file begins with. Leaves the file at its beginning.
Result<std::string> read_description(std::FILE* file);

}  // namespace cellar::cli
