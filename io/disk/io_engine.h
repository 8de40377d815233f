// IoEngine: executes reads, writes and syncs on open descriptors (op.fd) for the production file
// systems. IoQueues: its waiting operations, one FIFO queue per class.
#pragma once

#include <array>
#include <cstddef>

#include "io/disk/file.h"
#include "io/disk/io_age.h"

namespace cellar {

class IoEngine {
 public:
  virtual ~IoEngine() = default;
  // Like File::submit, with op.fd set.
  virtual void submit(IoOp& op) = 0;
  // See FileSystem::oldest_io_us().
  virtual int64_t oldest_us(int64_t now_us) = 0;
};

// Classes are served in enumeration order, log first, each up to its depth: a share of the
// operations in flight. A new read thus finds a shallow device queue under heavy merging, and a
// flood of reads leaves slots to flushes and merges, without which memory would fill up.
//
//              log   read   flush   compaction
//   share        1    3/4     1/8          1/8
//   of 64       64     48       8            8
class IoQueues {
 public:
  static constexpr int kDefaultInFlight = 64;
  static constexpr int kMaxCompactionInFlight = kDefaultInFlight / 8;

  // `in_flight`: the engine's maximum of operations in flight, at least 8.
  explicit IoQueues(int in_flight = kDefaultInFlight);

  void push(IoOp& op);
  // Puts an operation that must be submitted again at the front of its class.
  void push_front(IoOp& op);
  // Returns the next operation to start, in flight until finished(); null if none may start.
  IoOp* pop();
  void finished(const IoOp& op);
  bool may_start() const;
  int in_flight() const { return in_flight_; }
  bool empty() const;
  // Covers all operations pushed and not finished, including waiting ones.
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
