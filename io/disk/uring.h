// Uring: the file operations of one shard on its ring (io/ring).
//
// If no operation is in flight, the first one is submitted immediately, because the device would
// otherwise idle until the end of a possibly long turn; the others leave with the turn.
//
// Invariants: at most kMaxInFlight operations are with the ring; `done` runs only from the ring's
// hook; used and destroyed on the loop's thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "io/disk/io_engine.h"
#include "io/ring/ring.h"

namespace cellar {

class Uring final : public IoEngine {
 public:
  static constexpr int kMaxInFlight = 64;
  static constexpr uintptr_t kMaxRetries = 16;  // of an operation that returns EAGAIN or EINTR
  static constexpr size_t kMaxTransferBytes = size_t{1} << 30;  // larger transfers become short

  explicit Uring(std::shared_ptr<Ring> ring);
  // Waits for operations in flight without calling `done`.
  ~Uring() override;

  void submit(IoOp& op) override;
  int64_t oldest_us(int64_t now_us) override { return queues_.oldest_us(now_us); }

  const std::shared_ptr<Ring>& ring() const { return ring_; }

  // For tests of error paths: the next operation becomes a NOP that the kernel completes with
  // `result` (Linux 6.10 and later; elsewhere the result is 0 or -EINVAL).
  void inject_next_result(int result) { injected_ = result; }

 private:
  // Carries an operation through the ring.
  struct Slot final : RingOp {
    void prepare(io_uring_sqe& sqe) override { engine->prepare(sqe, *op); }
    void done(int result) override;

    Uring* engine = nullptr;
    IoOp* op = nullptr;
  };

  void start_operations();
  void finish(IoOp& op, int result);
  void prepare(io_uring_sqe& sqe, IoOp& op);

  const std::shared_ptr<Ring> ring_;
  IoQueues queues_{kMaxInFlight};
  std::array<Slot, kMaxInFlight> slots_;
  std::vector<Slot*> free_;
  std::optional<int> injected_;
};

}  // namespace cellar
