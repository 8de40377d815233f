// Writes a whole manifest into a store that has none, for a repair and a restore.
#pragma once

#include <map>

#include "engine/store/manifest_store.h"

namespace cellar::engine {

// In several edits if it is too large for one: after an interruption a part of it is there.
Async<Result<void>> write_whole_manifest(ManifestStore& store,
                                         const std::map<ManifestKey, ManifestEntry>& entries);

}  // namespace cellar::engine
