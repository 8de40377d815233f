#include "net/server/limits/memory_queue.h"

namespace cellar::server {

MemoryQueue::MemoryQueue() {
  run = [](MailboxMessage& self) {
    auto& queue = static_cast<MemoryQueue&>(self);
    queue.called_.store(false);
    queue.serve(*queue.memory_);
  };
}

bool MemoryQueue::join(NodeMemory& memory, MemoryWaiter& waiter, Kind kind) {
  const bool frames = kind == Kind::short_frames || kind == Kind::large_frames;
  if (frames && memory.waiting(kind) >= kMaxFrames) return false;
  memory_ = &memory;
  waiter.kind_ = kind;
  lists_[static_cast<size_t>(kind)].push_back(waiter);
  waiting_.fetch_add(1);
  memory.count_waiting(kind, 1);
  // Memory freed before the waiter was counted triggers no call.
  serve(memory, lists_[static_cast<size_t>(kind)]);
  return true;
}

void MemoryQueue::leave(NodeMemory& memory, MemoryWaiter& waiter) {
  if (!waiter.waits_for_memory()) return;
  List& list = lists_[static_cast<size_t>(waiter.kind_)];
  list.erase(list.iterator_to(waiter));
  waiting_.fetch_sub(1);
  memory.count_waiting(waiter.kind_, -1);
}

void MemoryQueue::call(Mailbox& from, ShardId to) {
  if (!called_.exchange(true)) from.send(to, *this);
}

void MemoryQueue::serve(NodeMemory& memory) {
  for (List& list : lists_) serve(memory, list);
}

// Waiters whose party already has its share come last.
void MemoryQueue::serve(NodeMemory& memory, List& list) {
  using Turn = NodeMemory::Turn;
  if (serve(memory, list, Turn::queued)) (void)serve(memory, list, Turn::beyond_share);
}

// In order. False if memory is exhausted.
bool MemoryQueue::serve(NodeMemory& memory, List& list, NodeMemory::Turn turn) {
  for (auto it = list.begin(); it != list.end();) {
    MemoryWaiter& waiter = *it++;
    const NodeMemory::Room room = waiter.take_room(turn);
    if (room == NodeMemory::Room::full) return false;
    if (room == NodeMemory::Room::given) leave(memory, waiter);
  }
  return true;
}

}  // namespace cellar::server
