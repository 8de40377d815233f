// MemoryQueue: waiters of one shard for the node's memory (node_memory.h), FIFO per kind. A release
// of memory on any shard triggers the queues of all shards with waiters; there is no polling.
//
// Waiters for frames are bounded in number and time; beyond either bound the session refuses the
// frame. Streams and second requests of a connection wait without limit: the memory they wait for
// is held by others that are bounded in time.
#pragma once

#include <array>
#include <atomic>

#include <boost/intrusive/list.hpp>

#include "io/loop/mailbox.h"
#include "net/server/limits/node_memory.h"

namespace cellar::server {

using MemoryWaitHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct MemoryWaitTag>>;

// Must leave the queue before it is destroyed.
class MemoryWaiter : public MemoryWaitHook {
 public:
  // Takes the memory it waits for. If it returns `given`, the queue removes it.
  virtual NodeMemory::Room take_room(NodeMemory::Turn turn) = 0;
  bool waits_for_memory() const { return MemoryWaitHook::is_linked(); }

 protected:
  ~MemoryWaiter() = default;

 private:
  friend class MemoryQueue;
  NodeMemory::Kind kind_ = NodeMemory::Kind::answers;
};

// One shard, except wanted() and call().
class MemoryQueue final : private MailboxMessage {
 public:
  using Kind = NodeMemory::Kind;
  static constexpr uint32_t kMaxFrames = 256;     // waiting frames per node, of each kind
  static constexpr int64_t kMaxWaitUs = 750'000;  // longest wait of a frame

  MemoryQueue();

  // False: too many are waiting. Otherwise take_room() is called, possibly before join() returns.
  bool join(NodeMemory& memory, MemoryWaiter& waiter, Kind kind);
  // No effect if it does not wait.
  void leave(NodeMemory& memory, MemoryWaiter& waiter);

  // ---- any shard
  bool wanted() const { return waiting_.load() != 0; }
  // Called on the shard of `from`: makes shard `to`, which owns this queue, serve its waiters.
  void call(Mailbox& from, ShardId to);

 private:
  using List = boost::intrusive::list<MemoryWaiter, boost::intrusive::base_hook<MemoryWaitHook>,
                                      boost::intrusive::constant_time_size<false>>;
  void serve(NodeMemory& memory);
  void serve(NodeMemory& memory, List& list);
  bool serve(NodeMemory& memory, List& list, NodeMemory::Turn turn);

  std::array<List, NodeMemory::kKinds> lists_;
  NodeMemory* memory_ = nullptr;  // set by the first join()
  std::atomic<uint32_t> waiting_ = 0;
  std::atomic<bool> called_ = false;  // the message is in flight
};

}  // namespace cellar::server
