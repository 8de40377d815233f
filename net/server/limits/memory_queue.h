// MemoryQueue: who waits on one shard for room in the node's memory (node_memory.h), first come
// first served by kind. Whoever gives room back, on any shard, has the queues of all shards with
// waiters called; nobody polls.
//
// One that waits for frames does so for a bounded time and is one of a bounded number: what is past
// either is refused by its session. Streams and second requests of a connection wait as long as it
// takes: what they wait for is held by others, who are bounded in time.
#pragma once

#include <array>
#include <atomic>

#include <boost/intrusive/list.hpp>

#include "io/loop/mailbox.h"
#include "net/server/limits/node_memory.h"

namespace cellar::server {

using MemoryWaitHook =
    boost::intrusive::list_base_hook<boost::intrusive::tag<struct MemoryWaitTag>>;

// Leaves the queue before it is destroyed.
class MemoryWaiter : public MemoryWaitHook {
 public:
  // Takes the room that it waits for. With `given` the queue lets it leave.
  virtual NodeMemory::Room take_room(NodeMemory::Turn turn) = 0;
  bool waits_for_memory() const { return MemoryWaitHook::is_linked(); }

 protected:
  ~MemoryWaiter() = default;

 private:
  friend class MemoryQueue;
  NodeMemory::Kind kind_ = NodeMemory::Kind::answers;
};

// One shard, but for wanted() and call().
class MemoryQueue final : private MailboxMessage {
 public:
  using Kind = NodeMemory::Kind;
  static constexpr uint32_t kMaxFrames = 256;     // frames of a node that wait, of each kind
  static constexpr int64_t kMaxWaitUs = 750'000;  // that a frame waits

  MemoryQueue();

  // False: too many wait already. Otherwise take_room() follows, perhaps inside.
  bool join(NodeMemory& memory, MemoryWaiter& waiter, Kind kind);
  // Does nothing for one that does not wait.
  void leave(NodeMemory& memory, MemoryWaiter& waiter);

  // ---- any shard
  bool wanted() const { return waiting_.load() != 0; }
  // From the shard of `from`: looks again on the shard `to`, which is this queue's.
  void call(Mailbox& from, ShardId to);

 private:
  using List = boost::intrusive::list<MemoryWaiter, boost::intrusive::base_hook<MemoryWaitHook>,
                                      boost::intrusive::constant_time_size<false>>;
  void serve(NodeMemory& memory);
  void serve(NodeMemory& memory, List& list);
  bool serve(NodeMemory& memory, List& list, NodeMemory::Turn turn);

  std::array<List, NodeMemory::kKinds> lists_;
  NodeMemory* memory_ = nullptr;  // once one has joined
  std::atomic<uint32_t> waiting_ = 0;
  std::atomic<bool> called_ = false;  // the message is under way
};

}  // namespace cellar::server
