// A data directory that is being filled by something other than a node: a repair, a restore. It
// has a file in its log folder and no FORMAT, which no start accepts (format_file.h), until
// everything else in it is durable. So what an interruption leaves is no node's data.
//
//   begin_directory(to); ...; finish_directory(to, id);
#pragma once

#include <string>
#include <string_view>

#include "io/disk/file.h"

namespace cellar::engine {

inline constexpr std::string_view kUnfinishedPath = "log/unfinished";

// Makes the folders of the stores and the file `kUnfinishedPath`, durably, and removes FORMAT.
// REQUIRES: the directory has no data that matters.
Async<Result<void>> begin_directory(FileSystem& fs);
// Whether begin_directory() was called, and finish_directory() was not.
Async<Result<bool>> is_unfinished(FileSystem& fs);
// Removes everything that an interrupted attempt left in the folders of the stores. REQUIRES: the
// directory is unfinished.
Async<Result<void>> clear_unfinished(FileSystem& fs);
// From here on a node accepts the directory. REQUIRES: files in it are durable, their names need
// not be.
Async<Result<void>> finish_directory(FileSystem& fs, std::string id);

}  // namespace cellar::engine
