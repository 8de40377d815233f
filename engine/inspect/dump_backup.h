// Prints the file of a backup.
#pragma once

#include <string>

#include "engine/inspect/dump.h"
#include "io/disk/file.h"

namespace cellar::engine {

inline constexpr Bytes kBackupMagic = "CELLRBAK";

Async<Result<void>> dump_backup(FileSystem& fs, std::string path, DumpOptions options, Dump& dump);

}  // namespace cellar::engine
