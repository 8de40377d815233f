// The manifest of a directory whose node does not run, as far as it can be known.
//
// It decides which files are live only if it is whole and certainly the newest: the file that
// CURRENT names; or, if the pointer is lost, the complete file with the latest edit, provided that
// no file with a greater number is damaged and that the previous pointer shows it not to be an
// older one. Otherwise its entries are the best knowledge of tables, tablets and clock: every edit
// of every file that can be read, also behind damage.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/store/manifest_store.h"
#include "io/disk/file.h"

namespace cellar::engine {

struct SalvagedManifest {
  bool decides = false;
  std::string path;  // of the deciding file, or of the newest that was used; empty: none
  std::map<ManifestKey, ManifestEntry> entries;
  std::vector<std::string> damage;  // sentences
  uint64_t files = 0;               // manifests found
};

Async<Result<SalvagedManifest>> salvage_manifest(FileSystem& fs);

// Names in a folder; none if there is no such folder.
Async<Result<std::vector<DirEntry>>> list_if_there(FileSystem& fs, std::string_view folder);

}  // namespace cellar::engine
