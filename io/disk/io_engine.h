// IoEngine: carries out reads, writes and syncs of open descriptors (op.fd) for the real bodies.
// IoQueues: what waits before it, one first-in-first-out queue a class.
#pragma once

#include <array>
#include <cstddef>

#include "io/disk/file.h"

namespace cellar {

class IoEngine {
 public:
  virtual ~IoEngine() = default;
  // As File::submit, with op.fd set.
  virtual void submit(IoOp& op) = 0;
};

// Classes are served in the order of the enumeration, log first. Compaction may have only
// kMaxCompactionInFlight operations in flight, so that a read that comes finds a shallow device
// queue.
class IoQueues {
 public:
  static constexpr int kMaxCompactionInFlight = 8;

  void push(IoOp& op);
  // To the front of its class: an operation that the kernel wants submitted again.
  void push_front(IoOp& op);
  // The next to start, counted as in flight until finished(); null when none may start.
  IoOp* pop();
  void finished(const IoOp& op);
  bool may_start() const;
  int in_flight() const { return in_flight_; }
  bool empty() const;

 private:
  static constexpr size_t kClasses = static_cast<size_t>(IoClass::compaction) + 1;
  struct Queue {
    IoOp* head = nullptr;
    IoOp* tail = nullptr;
  };
  bool may_start(size_t io_class) const;

  std::array<Queue, kClasses> queues_;
  int in_flight_ = 0;
  int compaction_in_flight_ = 0;
};

}  // namespace cellar
