// MemFs: FileSystem in memory, for tests and simulations. Deterministic: operations complete from
// the loop in the order they were submitted or, with an injected Random, in an order that its seed
// chooses; with Timers also after a latency. Several of them may share one MemDisk, each on its own
// loop. Misuse of the file contract aborts (io_guard.h).
#pragma once

#include <memory>

#include "io/base/random.h"
#include "io/disk/file.h"
#include "io/loop/timers.h"
#include "io/sim/mem_disk.h"

namespace cellar {

struct MemFsOptions {
  Random* random = nullptr;    // shuffles completions; null: first in, first out
  Timers* timers = nullptr;    // needed for latency; without it a refused lock is not retried
  int64_t min_latency_us = 0;  // per operation, uniform in [min, max] when random is there
  int64_t max_latency_us = 0;
};

class MemQueue;

class MemFs final : public FileSystem {
 public:
  // `disk` and what the options point to must outlive it.
  MemFs(ShardExecutor executor, MemDisk& disk, MemFsOptions options = {});
  ~MemFs() override;

  // The process that uses this file system died: nothing completes any more and what is in flight
  // is forgotten, so take the crash image first. Destroying the loop's io_context does the same.
  void halt();

  Async<Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) override;
  Async<Result<void>> remove(std::string path) override;
  Async<Result<void>> rename(std::string from, std::string to) override;
  Async<Result<void>> create_dir(std::string path) override;
  Async<Result<void>> sync_dir(std::string path) override;
  Async<Result<std::vector<DirEntry>>> list(std::string path) override;
  Async<Result<uint64_t>> free_bytes() override;
  Async<Result<std::unique_ptr<FileLock>>> lock(std::string path) override;
  std::string_view name() const override { return "memory"; }

 private:
  MemDisk& disk_;
  const MemFsOptions options_;
  const std::shared_ptr<MemQueue> queue_;  // also held by what it has posted
};

}  // namespace cellar
