// CacheLoans: moves memory of the block caches between shards, by what it earns
// (shard/cache_loan.h).
//
// Every kLookUs it asks all shards, and moves at most one step. A loan has two phases: the lender's
// budget falls and its cache gives the memory up; then the borrower's budget rises. So the sum of
// the budgets never exceeds the node's. A lender whose memtables need the memory asks for it, and
// gets it back step by step from the largest borrowers.
//
// On shard 0, except for call_back(). A node of one shard has none.
#pragma once

#include <vector>

#include "engine/node/node_shards.h"
#include "engine/shard/cache_loan.h"
#include "io/loop/event.h"
#include "io/loop/gate.h"
#include "io/loop/timers.h"

namespace cellar::engine {

class CacheLoans {
 public:
  static constexpr int64_t kLookUs = 2'000'000;
  // A lender's cache gives a step up within this time, or keeps it.
  static constexpr int64_t kMostWaitUs = 1'000'000;

  explicit CacheLoans(NodeShards& shards);

  void serve();
  // On that shard: it needs what it has lent.
  void call_back(ShardId shard);
  // Resumes when nothing moves any more.
  Async<void> stop();

 private:
  Async<void> loop();
  Async<void> look();
  Async<void> return_to(ShardId lender);
  // False: nothing was moved.
  Async<bool> move(ShardId from, ShardId to, size_t bytes);

  NodeShards& shards_;
  std::vector<ShardId> short_;  // lenders that ask for their memory
  bool stopping_ = false;
  ConditionVariable wake_;
  Timer timer_;
  Gate running_{"cache loans"};
};

}  // namespace cellar::engine
