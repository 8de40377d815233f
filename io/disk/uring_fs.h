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
// Durable writes do not go through the ring. Where the device has no FUA, the kernel ends a direct
// durable write of a ring in a work item bound to the core that took the interrupt, and that core
// is a shard's, busy: the work item waits for its turn, milliseconds when others want the core too.
// A blocking call ends in the thread that made it, which runs wherever there is room. So such a
// write is made by a thread of the pool: two thread switches more, but measured twice as many
// commits a second on a loaded machine. Its writes end with the process, so they need no lock.
//
// A ring lets go of the lock when it is destroyed (shard 0: when the FileLock is), so close every
// file first.
#pragma once

#include <memory>

#include "io/disk/pool_engine.h"
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
      : PosixFs(loop, pool, std::move(root)),
        ring_(std::move(ring)),
        threads_(loop, pool),
        engine_(*ring_, threads_) {}
  IoEngine& engine() override { return engine_; }

  class Engine final : public IoEngine {
   public:
    Engine(IoEngine& ring, IoEngine& threads) : ring_(ring), threads_(threads) {}
    void submit(IoOp& op) override {
      const bool durable = op.kind == IoOp::Kind::write && op.dsync;
      (durable ? threads_ : ring_).submit(op);
    }

   private:
    IoEngine& ring_;
    IoEngine& threads_;
  };

  const std::shared_ptr<Uring> ring_;  // locks refer to it weakly, to let go
  PoolEngine threads_;
  Engine engine_;
};

}  // namespace cellar
