// Arrivals: hands objects from threads that are no shards to a shard's loop, without locks.
//
// A thread pushes to a stack by compare-and-swap; the loop takes the whole stack in its turn and
// runs it in the order of arrival. Before the loop sleeps it says so and looks once more; a thread
// pushes first and then asks whether the loop sleeps. Both are sequentially consistent, so one side
// sees the other, and only the first push to a sleeping loop costs a system call.
#pragma once

#include <atomic>
#include <cstdint>

#include "io/loop/loop.h"

namespace cellar {

struct Arrival {
  Arrival* next_arrival = nullptr;  // used by Arrivals while the object is on its way
  // Called on the loop; the object may be destroyed by it.
  void (*on_arrival)(Arrival& self) = nullptr;
};

// REQUIRES: no push() begins after the last object that is awaited has had its turn. The destructor
// waits for the threads that are still inside push().
class Arrivals final : public LoopHook {
 public:
  explicit Arrivals(Loop& loop) : loop_(loop) { loop_.add_hook(*this); }
  ~Arrivals() override;
  Arrivals(const Arrivals&) = delete;
  Arrivals& operator=(const Arrivals&) = delete;

  // From any thread. The object stays in place until its turn.
  void push(Arrival& arrival);

  bool on_turn() override;
  bool may_sleep() override;

  // Posts that woke the loop.
  uint64_t wakes() const { return wakes_.load(std::memory_order_relaxed); }

 private:
  Loop& loop_;
  alignas(64) std::atomic<Arrival*> newest_{nullptr};
  std::atomic<bool> asleep_{false};
  std::atomic<uint32_t> pushing_{0};
  std::atomic<uint64_t> wakes_{0};
};

}  // namespace cellar
