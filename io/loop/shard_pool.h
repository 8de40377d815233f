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

// Made, started, stopped and destroyed by one thread, which is not one of the shards.
class ShardPool {
 public:
  struct Options {
    uint32_t shards = 1;
    bool pin = true;  // each shard to a core of its own; ignored when there are fewer cores
    int64_t spin_us = ShardLoop::kDefaultSpinUs;
    uint64_t seed = 0;  // 0 takes one from the operating system
  };
  using Setup = std::function<void(Shard&)>;
  using Work = std::function<Async<void>(Shard&)>;

  ShardPool(const Clock& clock, Options options);
  ~ShardPool();  // stops when that was not done
  ShardPool(const ShardPool&) = delete;
  ShardPool& operator=(const ShardPool&) = delete;

  static uint32_t cores();  // that this process may run on

  // Starts the threads. `setup` runs on every shard's thread before its loop takes a turn; start()
  // returns when all have finished it. Shards may send to one another from inside.
  void start(const Setup& setup = {});
  // Runs `work` on every shard's loop at once and waits for all of them.
  void run_on_all(const Work& work);
  // The same for one.
  void run_on(ShardId shard, const Work& work);
  // Runs `last` on every shard, waits for all, then ends the loops and joins the threads;
  // `teardown` runs on each shard's thread after its last turn (the place to destroy a ring).
  void stop(const Work& last = {}, const Setup& teardown = {});

  uint32_t size() const { return static_cast<uint32_t>(members_.size()); }
  // For its own thread, or while the pool does not run.
  Shard& on(ShardId shard);
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
