// ShardPool: starts the shards of a process, one thread each, and stops them.
//
//   SystemClock clock;
//   ShardPool pool(clock, {.shards = 4});
//   pool.start([](Shard& shard) { ... make this shard's ring, spawn its coroutines ... });
//   pool.stop([](Shard& shard) -> Async<void> { ... close gates, flush ... });
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "io/base/clock.h"
#include "io/loop/mailbox.h"
#include "io/loop/shard.h"
#include "io/loop/shard_loop.h"

namespace cellar {

// One thread, which is not a shard, makes, starts, stops and destroys the pool.
class ShardPool {
 public:
  struct Options {
    uint32_t shards = 1;
    bool pin = true;  // pins each shard to its own core; ignored if there are fewer cores
    int64_t spin_us = ShardLoop::kShardSpinUs;
    uint64_t seed = 0;  // 0: a seed from the operating system
  };
  using Setup = std::function<void(Shard&)>;
  using Work = std::function<Async<void>(Shard&)>;

  ShardPool(const Clock& clock, Options options);
  ~ShardPool();  // calls stop() if that has not been done
  ShardPool(const ShardPool&) = delete;
  ShardPool& operator=(const ShardPool&) = delete;

  static uint32_t cores();  // cores available to this process

  // Starts the threads. Each shard's thread runs `setup` before its loop's first turn; start()
  // returns when all have finished. `setup` may send to other shards.
  void start(const Setup& setup = {});
  // Runs `work` on all shards' loops concurrently and waits for all.
  void run_on_all(const Work& work);
  // Runs `work` on one shard's loop and waits for it.
  void run_on(ShardId shard, const Work& work);
  // Runs `last` on every shard, waits for all, then stops the loops and joins the threads. Each
  // shard's thread runs `teardown` after its last turn, for example to destroy a ring.
  void stop(const Work& last = {}, const Setup& teardown = {});

  uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
  // Call on that shard's thread, or while the pool is not running.
  Shard& on(ShardId shard);
  const ShardLoop& loop(ShardId shard) const;  // call likewise
  Mailboxes& mailboxes() { return mailboxes_; }

 private:
  struct Member;

  Options options_;
  Mailboxes mailboxes_;
  std::vector<std::unique_ptr<Member>> members_;
  Setup teardown_;
  bool running_ = false;
};

}  // namespace cellar
