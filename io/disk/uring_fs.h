// UringFs: FileSystem over the io_uring of one shard.
//
// The lock. Direct writes submitted by a process that is killed may land after its death. A lock on
// a plain descriptor is free by then, so a successor could start while they land. The lock's
// descriptor is therefore registered in the ring: the kernel keeps the lock until the ring's last
// operation is done. lock() does so for its own shard; EVERY other shard of the process must call
// hold_lock() with the same lock before its first write.
//
//   shard 0:  auto lock = co_await fs0.lock("LOCK");
//   shard n:  fsn.hold_lock(*lock);
//
// Writes bypass the ring and run on pool threads. If the device lacks FUA, the kernel finishes a
// ring's direct durable write in a work item bound to the core that took the interrupt. That core
// runs a busy shard, so the work item waits, for milliseconds if others want the core too. A
// blocking call finishes in its own thread, which runs on any free core: two more thread switches,
// but twice the measured commits per second on a loaded machine. Other writes (tables, new log
// segments) may block in the submitting call even if the ring is asked not to block: a direct write
// into reserved space waits in ext4 for a concurrent change of the file's extents, which may wait
// for the device to discard a block; measured 0.2 s and more, for the whole shard. Both have
// threads of their own, kLogThreads and kBulkThreads per shard, so that the log never waits for a
// thread that writes a table or carries out a metadata call. Writes of threads end with the process
// and need no lock.
//
// A ring releases the lock when it is destroyed (on shard 0: when the FileLock is), so close every
// file first, and the sockets that hold the ring too.
#pragma once

#include <algorithm>
#include <memory>
#include <optional>

#include "io/disk/pool_engine.h"
#include "io/disk/posix_fs.h"
#include "io/disk/uring.h"

namespace cellar {

class UringFs final : public PosixFs {
 public:
  // Call on the loop's thread. `loop` and `pool` must outlive it.
  static Result<std::unique_ptr<UringFs>> create(Loop& loop, const std::string& root,
                                                 BlockingPool& pool);
  // Call on the loop's thread. REQUIRES: every file closed.
  ~UringFs() override;  // releases the lock that hold_lock() took

  Async<Result<std::unique_ptr<FileLock>>> lock(std::string path) override;
  Result<void> hold_lock(const FileLock& lock) override;
  std::string_view name() const override { return "io_uring"; }
  Uring& ring() { return ring_; }

  static constexpr int kBulkThreads = 3;
  // As many as a log has writes in flight.
  static constexpr int kLogThreads = 4;

 private:
  UringFs(Loop& loop, BlockingPool& pool, std::unique_ptr<PosixDir> root,
          std::shared_ptr<Ring> ring)
      : PosixFs(loop, pool, std::move(root)),
        ring_(std::move(ring)),
        log_pool_(kLogThreads),
        log_(loop, log_pool_),
        bulk_pool_(kBulkThreads),
        bulk_(loop, bulk_pool_),
        engine_(ring_, log_, bulk_) {}
  IoEngine& engine() override { return engine_; }

  class Engine final : public IoEngine {
   public:
    Engine(IoEngine& ring, IoEngine& log, IoEngine& bulk) : ring_(ring), log_(log), bulk_(bulk) {}
    void submit(IoOp& op) override {
      if (op.kind != IoOp::Kind::write) return ring_.submit(op);
      (op.dsync ? log_ : bulk_).submit(op);
    }
    int64_t oldest_us(int64_t now_us) override {
      return std::max({ring_.oldest_us(now_us), log_.oldest_us(now_us), bulk_.oldest_us(now_us)});
    }

   private:
    IoEngine& ring_;
    IoEngine& log_;
    IoEngine& bulk_;
  };

  Uring ring_;
  std::optional<int> held_lock_;  // its place in the ring
  BlockingPool log_pool_;
  PoolEngine log_;
  BlockingPool bulk_pool_;  // outlives bulk_, which has nothing in flight on destruction
  PoolEngine bulk_;
  Engine engine_;
};

}  // namespace cellar
