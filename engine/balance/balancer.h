// Balancer: splits, merges and moves tablets of a node automatically. On shard 0: it takes the
// figures of every tablet, calls decide.h, has the node carry out the change, and starts again; one
// change at a time.
//
//   Balancer balancer(runtime, node, shards, options);
//   balancer.start();
//   ...
//   co_await balancer.stop();      // before the node is closed
#pragma once

#include "engine/balance/load_book.h"
#include "engine/balance/options.h"
#include "engine/node.h"
#include "io/loop/event.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

class Balancer {
 public:
  // Changes per measurement of the rates; further ones wait for the next.
  static constexpr int kChangesPerRound = 16;
  // The interval grows by this per tablet, because a check costs the shards about a microsecond for
  // each.
  static constexpr int64_t kLookUsPerTablet = 500;

  struct Counters {
    uint64_t splits = 0;
    uint64_t merges = 0;
    uint64_t moves = 0;
    uint64_t refused = 0;  // by the node
  };

  // All arguments must outlive it. REQUIRES: on shard 0, with its runtime.
  Balancer(Runtime runtime, Node& node, uint32_t shards, const BalanceOptions& options);

  void start();  // no effect if disabled
  Async<void> stop();
  const Counters& counters() const { return counters_; }

 private:
  Async<void> run();
  Async<void> round();
  Async<bool> look(bool measure);
  Async<bool> apply(Reshape change);
  Async<Result<void>> carry_out(Reshape change);
  Async<void> pause();

  Runtime runtime_;
  Node& node_;
  const BalanceOptions options_;
  LoadBook book_;
  BalanceView view_;  // the last check
  Counters counters_;
  bool running_ = false;
  bool stopping_ = false;
  bool can_look_ = true;  // the last check succeeded; a failure is logged once
  Timer timer_;
  ConditionVariable woken_;
  Event ended_;
};

}  // namespace cellar::engine
