// PosixFs: the common part of the production file systems. Metadata operations go to the
// BlockingPool; reads, writes and syncs to the IoEngine.
#pragma once

#include <memory>

#include "io/disk/blocking_pool.h"
#include "io/disk/io_engine.h"
#include "io/disk/posix_dir.h"
#include "io/loop/loop.h"

namespace cellar {

// The descriptor may be read on any shard, for registration there.
class PosixLock : public FileLock {
 public:
  explicit PosixLock(Fd fd) : fd_(std::move(fd)) {}
  int fd() const { return fd_.get(); }
  Fd take() { return std::move(fd_); }  // leaves a lock that holds nothing

 private:
  Fd fd_;
};

class PosixFs : public FileSystem {
 public:
  Async<Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) override;
  Async<Result<void>> remove(std::string path) override;
  Async<Result<void>> rename(std::string from, std::string to) override;
  Async<Result<void>> create_dir(std::string path) override;
  Async<Result<void>> sync_dir(std::string path) override;
  Async<Result<std::vector<DirEntry>>> list(std::string path) override;
  Async<Result<uint64_t>> free_bytes() override;
  Async<Result<std::unique_ptr<FileLock>>> lock(std::string path) override;
  int64_t oldest_io_us(int64_t now_us) override { return engine().oldest_us(now_us); }

 protected:
  PosixFs(Loop& loop, BlockingPool& pool, std::unique_ptr<PosixDir> root)
      : loop_(loop), pool_(pool), root_(std::move(root)) {}
  virtual IoEngine& engine() = 0;

  Loop& loop_;
  BlockingPool& pool_;

 private:
  const std::unique_ptr<PosixDir> root_;
};

}  // namespace cellar
