// Balancer: the loop that keeps a node's tablets in shape. On shard 0: it looks at every tablet,
// asks decide.h what to change, has the node change it, and looks again; one change at a time.
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
  // Changes that follow from one look at the rates; more wait for the next.
  static constexpr int kChangesPerRound = 16;
  // The time between two looks grows by this for each tablet: a look costs the shards a microsecond
  // or so for each, and must not be felt.
  static constexpr int64_t kLookUsPerTablet = 500;

  struct Counters {
    uint64_t splits = 0;
    uint64_t merges = 0;
    uint64_t moves = 0;
    uint64_t refused = 0;  // by the node
  };

  // All outlive it. REQUIRES: on shard 0, whose runtime this is.
  Balancer(Runtime runtime, Node& node, uint32_t shards, const BalanceOptions& options);

  void start();  // does nothing when it is switched off
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
  BalanceView view_;  // the last look
  Counters counters_;
  bool running_ = false;
  bool stopping_ = false;
  bool can_look_ = true;  // the last look succeeded; a failure is logged once
  Timer timer_;
  ConditionVariable woken_;
  Event ended_;
};

}  // namespace cellar::engine
