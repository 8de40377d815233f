// StartSpare: space that a shard keeps allocated, so that the log of the next start finds room on a
// full disk. It is the file log/<shard>.spare, without content:
//
//   running node        the file has kStartSpareBytes, or as much as the disk had
//   start with little   removes the file first; the segments of its log are then so small that
//   room                they, and a flush of a few deletes, fit into that space
//   after the start     the space is allocated again as far as possible
//
// A crash at any point is harmless: the next start removes what an interrupted one made before it
// needs room.
#pragma once

#include <string>

#include "engine/model/types.h"
#include "engine/store/log_options.h"
#include "io/disk/file.h"

namespace cellar::engine {

// One shard. `fs` must outlive it.
class StartSpare {
 public:
  StartSpare(FileSystem& fs, LogId log, const LogOptions& options);

  // The size of the segments of a new log: as in the options if all logs have room for many of
  // them, else smaller. Removes the file if space is short.
  Async<uint64_t> segment_bytes();
  // Allocates the space, or half of this shard's share of the free space. False: less than wanted.
  Async<bool> keep();

 private:
  Async<uint64_t> release();

  FileSystem& fs_;
  const std::string path_;
  const LogOptions options_;
};

}  // namespace cellar::engine
