// The definitions of the indexes of a data directory's tables.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "engine/model/index_schema.h"
#include "engine/store/manifest/manifest_file.h"
#include "io/disk/file.h"
#include "io/loop/async.h"

namespace cellar::engine {

using IndexesByTable = std::map<uint64_t, std::vector<IndexSchema>>;

// Of tables with a readable state that have indexes.
IndexesByTable indexes_of(const ManifestState& state);
// By the true manifest of the directory; none if it cannot be read.
Async<IndexesByTable> read_indexes(FileSystem& fs);

}  // namespace cellar::engine
