// PoolEngine: reads, writes and syncs of one shard as blocking calls on threads of the pool.
#pragma once

#include <array>
#include <optional>

#include <boost/asio/executor_work_guard.hpp>

#include "io/disk/blocking_pool.h"
#include "io/disk/io_engine.h"
#include "io/loop/loop.h"

namespace cellar {

// One shard; the pool is shared. The destructor REQUIRES that nothing is in flight.
class PoolEngine final : public IoEngine {
 public:
  static constexpr int kMaxInFlight = 32;  // per shard; more wait in IoQueues

  PoolEngine(Loop& loop, BlockingPool& pool);
  ~PoolEngine() override;

  void submit(IoOp& op) override;
  int64_t oldest_us(int64_t now_us) override { return queues_.oldest_us(now_us); }

 private:
  struct Slot : BlockingPool::Job {
    PoolEngine* engine = nullptr;
    IoOp* op = nullptr;
    Slot* next_free = nullptr;
    std::optional<asio::executor_work_guard<ShardExecutor>> work;
  };

  static void run_slot(BlockingPool::Job& job);
  void start();
  void finish(Slot& slot);

  const ShardExecutor executor_;
  BlockingPool& pool_;
  IoQueues queues_{kMaxInFlight};
  std::array<Slot, kMaxInFlight> slots_;
  Slot* free_ = nullptr;
};

}  // namespace cellar
