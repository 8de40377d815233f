// DirectorySync: makes the names of one directory durable. Requests that arrive while a sync runs
// share the next one.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "io/disk/file.h"
#include "io/loop/waiter.h"

namespace cellar::engine {

// One shard. `fs` must outlive it.
class DirectorySync {
 public:
  DirectorySync(FileSystem& fs, std::string directory)
      : fs_(fs), directory_(std::move(directory)) {}
  DirectorySync(const DirectorySync&) = delete;
  DirectorySync& operator=(const DirectorySync&) = delete;

  // Every change of a name before the call is durable on success.
  Async<Result<void>> run();

 private:
  struct Request {
    Waiter turn;
    std::optional<Result<void>> outcome{};  // empty when resumed: it syncs for all that wait
  };

  FileSystem& fs_;
  const std::string directory_;
  bool running_ = false;
  std::vector<Request*> waiting_;
};

}  // namespace cellar::engine
