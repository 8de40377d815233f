// IoEngine: carries out reads, writes and syncs of open descriptors (op.fd) for the real bodies.
// IoQueues: what waits before it, one first-in-first-out queue a class.
#pragma once

#include <array>
#include <cstddef>

#include "io/disk/file.h"
#include "io/disk/io_age.h"

namespace cellar {

class IoEngine {
 public:
  virtual ~IoEngine() = default;
  // As File::submit, with op.fd set.
  virtual void submit(IoOp& op) = 0;
  // As FileSystem::oldest_io_us().
  virtual int64_t oldest_us(int64_t now_us) = 0;
};

// Classes are served in the order of the enumeration, log first, each up to its depth: a share of
// what may be in flight at once. So a read that comes finds a shallow device queue however much is
// merged, and a flood of reads leaves flushes and merges their slots, without which memory would
// fill behind them.
//
//              log   read   flush   compaction
//   share        1    3/4     1/8          1/8
//   of 64       64     48       8            8
class IoQueues {
 public:
  static constexpr int kDefaultInFlight = 64;
  static constexpr int kMaxCompactionInFlight = kDefaultInFlight / 8;

  // Of an engine that has so many operations in flight at most, 8 or more.
  explicit IoQueues(int in_flight = kDefaultInFlight);

  void push(IoOp& op);
  // To the front of its class: an operation that the kernel wants submitted again.
  void push_front(IoOp& op);
  // The next to start, counted as in flight until finished(); null when none may start.
  IoOp* pop();
  void finished(const IoOp& op);
  bool may_start() const;
  int in_flight() const { return in_flight_; }
  bool empty() const;
  // Of what was pushed and has not finished, waiting operations included.
  int64_t oldest_us(int64_t now_us) { return age_.look(now_us); }

 private:
  static constexpr size_t kClasses = static_cast<size_t>(IoClass::compaction) + 1;
  struct Queue {
    IoOp* head = nullptr;
    IoOp* tail = nullptr;
  };
  bool may_start(size_t io_class) const;

  std::array<Queue, kClasses> queues_;
  std::array<int, kClasses> depth_;
  std::array<int, kClasses> class_in_flight_{};
  int in_flight_ = 0;
  IoAge age_;
};

}  // namespace cellar
