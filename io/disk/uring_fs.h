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
// Writes do not go through the ring. Where the device has no FUA, the kernel ends a direct durable
// write of a ring in a work item bound to the core that took the interrupt, and that core is a
// shard's, busy: the work item waits for its turn, milliseconds when others want the core too. A
// blocking call ends in the thread that made it, which runs wherever there is room. So such a write
// is made by a thread of the pool: two thread switches more, but measured twice as many commits a
// second on a loaded machine. The others, of tables and new log segments, may block in the call
// that submits them, however the ring is asked not to: a direct write into reserved space waits in
// ext4 for whoever changes the file's extents, and that one may be waiting for the device to
// discard a block; measured 0.2 s and more, for the whole shard. They have threads of their own,
// kBulkThreads a shard, so that the log never waits for a thread behind a table. What threads write
// ends with the process, so it needs no lock.
//
// A ring lets go of the lock when it is destroyed (shard 0: when the FileLock is), so close every
// file first.
#pragma once

#include <algorithm>
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

  static constexpr int kBulkThreads = 3;

 private:
  UringFs(Loop& loop, BlockingPool& pool, std::unique_ptr<PosixDir> root,
          std::unique_ptr<Uring> ring)
      : PosixFs(loop, pool, std::move(root)),
        ring_(std::move(ring)),
        threads_(loop, pool),
        bulk_pool_(kBulkThreads),
        bulk_(loop, bulk_pool_),
        engine_(*ring_, threads_, bulk_) {}
  IoEngine& engine() override { return engine_; }

  class Engine final : public IoEngine {
   public:
    Engine(IoEngine& ring, IoEngine& threads, IoEngine& bulk)
        : ring_(ring), threads_(threads), bulk_(bulk) {}
    void submit(IoOp& op) override {
      if (op.kind != IoOp::Kind::write) return ring_.submit(op);
      (op.dsync ? threads_ : bulk_).submit(op);
    }
    int64_t oldest_us(int64_t now_us) override {
      return std::max(
          {ring_.oldest_us(now_us), threads_.oldest_us(now_us), bulk_.oldest_us(now_us)});
    }

   private:
    IoEngine& ring_;
    IoEngine& threads_;
    IoEngine& bulk_;
  };

  const std::shared_ptr<Uring> ring_;  // locks refer to it weakly, to let go
  PoolEngine threads_;
  BlockingPool bulk_pool_;  // outlives bulk_, which has nothing in flight when it goes
  PoolEngine bulk_;
  Engine engine_;
};

}  // namespace cellar
