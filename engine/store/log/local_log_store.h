// LocalLogStore: the logs of one machine, in `log/` of a FileSystem.
#pragma once

#include <memory>

#include "engine/store/file/file_removal.h"
#include "engine/store/log/log_files.h"
#include "engine/store/log_options.h"
#include "engine/store/log_store.h"
#include "io/disk/file.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

// One per shard; stores of other shards may use the same directory for other log ids. `fs` and
// `runtime` must outlive it and its logs.
class LocalLogStore final : public LogStore {
 public:
  LocalLogStore(FileSystem& fs, Runtime& runtime, LogOptions options);

  Async<Result<std::unique_ptr<Log>>> create(LogId id) override;
  Async<Result<std::vector<LogId>>> list() override;
  Async<Result<LogReadReport>> read(LogId id, LogPosition from, LogVisitor& visitor) override;
  Async<Result<void>> fence(LogId id) override;
  // OK if absent. Atomic for list() and read(), also across a crash.
  Async<Result<void>> remove(LogId id) override;
  Async<Result<size_t>> remove_litter() override;

 private:
  Async<Result<void>> remove_remains(LogId id, LogFiles files, FileRemovalRef removal);

  FileSystem& fs_;
  Runtime& runtime_;
  const LogOptions options_;
  const FileRemovalRef removal_;
};

}  // namespace cellar::engine
