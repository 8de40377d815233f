// UringFs: FileSystem over the io_uring of one shard.
//
// The lock and what it protects against: when a process is killed, direct writes that it had
// submitted keep landing after it is gone. A lock on a plain descriptor is free by then, so a
// successor could start while they land. Here the lock's descriptor is registered in the ring: the
// kernel keeps the lock until the ring's last operation is done. lock() does so for its own shard;
// EVERY other shard of the process must call hold_lock() with the same lock before its first write.
//
//   shard 0:  auto lock = co_await fs0.lock("LOCK");
//   shard n:  fsn.hold_lock(*lock);
//
// A ring lets go of the lock when it is destroyed (shard 0: when the FileLock is), so close every
// file first.
#pragma once

#include <memory>

#include "io/disk/posix_fs.h"
#include "io/disk/uring.h"

namespace cellar {

class UringFs final : public PosixFs {
 public:
  // On the loop's thread. `loop` and `pool` must outlive it.
  static Result<std::unique_ptr<UringFs>> create(Loop& loop, const std::string& root,
                                                 BlockingPool& pool);
  // REQUIRES: every file closed, on the loop's thread.
  ~UringFs() override;

  Async<Result<std::unique_ptr<FileLock>>> lock(std::string path) override;
  Result<void> hold_lock(const FileLock& lock) override;
  std::string_view name() const override { return "io_uring"; }
  Uring& ring() { return *ring_; }

 private:
  UringFs(Loop& loop, BlockingPool& pool, std::unique_ptr<PosixDir> root,
          std::unique_ptr<Uring> ring)
      : PosixFs(loop, pool, std::move(root)), ring_(std::move(ring)) {}
  IoEngine& engine() override { return *ring_; }

  const std::shared_ptr<Uring> ring_;  // locks refer to it weakly, to let go
};

}  // namespace cellar
