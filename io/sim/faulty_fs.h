// FaultyFs: wraps a FileSystem and makes operations fail, transfer less, delay or hang as
// FaultRules say. Its error messages end in "(injected)". It aborts on misuse of the file contract
// (io_guard.h), so without rules it is a checking wrapper.
#pragma once

#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "io/disk/file.h"
#include "io/disk/io_age.h"
#include "io/loop/loop.h"
#include "io/loop/timers.h"
#include "io/sim/fault_rules.h"

namespace cellar {

class FaultyFs final : public FileSystem {
 public:
  // `rules` and `timers` must outlive it; one FaultRules may serve several file systems of one
  // thread. `timers` may be null if no rule has delay_us=.
  FaultyFs(ShardExecutor executor, std::unique_ptr<FileSystem> base, FaultRules& rules,
           Timers* timers = nullptr);
  ~FaultyFs() override;

  // Starts the hanging operations and returns their number.
  size_t release_hung();
  FileSystem& base() { return *base_; }

  Async<Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) override;
  Async<Result<void>> remove(std::string path) override;
  Async<Result<void>> rename(std::string from, std::string to) override;
  Async<Result<void>> create_dir(std::string path) override;
  Async<Result<void>> sync_dir(std::string path) override;
  Async<Result<std::vector<DirEntry>>> list(std::string path) override;
  Async<Result<uint64_t>> free_bytes() override;
  Async<Result<std::unique_ptr<FileLock>>> lock(std::string path) override;
  Result<void> hold_lock(const FileLock& lock) override { return base_->hold_lock(lock); }
  // Hanging operations count as in flight.
  int64_t oldest_io_us(int64_t now_us) override { return age_.look(now_us); }
  std::string_view name() const override { return base_->name(); }

 private:
  friend class FaultyFile;

  // Applies the delay, hang and error that the rules give for a metadata operation.
  Async<Result<void>> meet(std::string_view operation, std::string_view path);

  const ShardExecutor executor_;
  FaultRules& rules_;
  Timers* const timers_;
  std::vector<std::function<void()>> hung_;
  IoAge age_;
  const std::unique_ptr<FileSystem> base_;
};

}  // namespace cellar
