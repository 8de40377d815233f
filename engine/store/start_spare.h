// StartSpare: space that a shard keeps allocated while it runs, so that the log of the next start
// finds room on a full disk. It is a file without content, log/<shard>.spare:
//
//   a node that runs    the file has kSpareBytes, or what the disk had for it
//   a start that finds  gives the file up first; the segments of its log are then so small that
//   little room         they, and what a flush of a few deletes needs, come out of that space
//   after the start     the space is taken again, as far as there is some
//
// A kill in the midst of it costs nothing: what an interrupted start made is removed by the next
// one before that needs room.
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

  // How large the segments of a log that begins now should be: as the options say where all logs
  // find room for many of them, else smaller. Gives up the file where the room is short.
  Async<uint64_t> segment_bytes();
  // Takes the space, or half of this shard's part of what is left. False: there should be more.
  Async<bool> keep();

 private:
  Async<uint64_t> release();

  FileSystem& fs_;
  const std::string path_;
  const LogOptions options_;
};

}  // namespace cellar::engine
