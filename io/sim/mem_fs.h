// MemFs: in-memory FileSystem for tests and simulations. Deterministic: operations complete from
// the loop in submission order or, with an injected Random, in an order determined by its seed;
// with Timers also after a latency. Several may share one MemDisk, each on its own loop. Misuse of
// the file contract aborts (io_guard.h).
#pragma once

#include <memory>

#include "io/base/random.h"
#include "io/disk/file.h"
#include "io/loop/timers.h"
#include "io/sim/mem_disk.h"

namespace cellar {

struct MemFsOptions {
  Random* random = nullptr;    // shuffles completions; null: FIFO
  Timers* timers = nullptr;    // required for latency; without timers a refused lock is not retried
  int64_t min_latency_us = 0;  // per operation; uniform in [min, max] if `random` is set
  int64_t max_latency_us = 0;
};

class MemQueue;

class MemFs final : public FileSystem {
 public:
  // `disk` and the objects in `options` must outlive it.
  MemFs(ShardExecutor executor, MemDisk& disk, MemFsOptions options = {});
  ~MemFs() override;

  // Simulates the death of the process: nothing completes and operations in flight are
  // dropped, so take the crash image first. Destroying the loop's io_context has the same effect.
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
  const std::shared_ptr<MemQueue> queue_;  // shared with posted functions
};

}  // namespace cellar
