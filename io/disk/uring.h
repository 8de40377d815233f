// Uring: one io_uring of one shard.
//
// Operations gather in IoQueues during a loop turn; the turn's hook submits them with one system
// call and reaps completions. If nothing is in flight, the first operation is submitted
// immediately, because the device would otherwise idle until the end of a possibly long turn. While
// the loop is awake the ring's eventfd is disabled and a turn costs one look at shared memory;
// before the loop sleeps the eventfd is armed, and a completion then wakes the loop through Asio.
//
// Invariants: at most kMaxInFlight operations are in the kernel, so the completion queue (at least
// twice that size) cannot overflow; `done` runs only from the hook; the ring is created, used and
// destroyed on the loop's thread (IORING_SETUP_SINGLE_ISSUER).
#pragma once

#include <liburing.h>

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "io/disk/io_engine.h"
#include "io/disk/posix_dir.h"
#include "io/loop/loop.h"

namespace cellar {

// Makes a ring with the best set-up known to the kernel: DEFER_TASKRUN (6.1), COOP_TASKRUN (5.19),
// plain. Returns 0 or -errno. probe_ring() also checks that reads, writes and syncs are supported
// (-ENOSYS if not) and leaves no ring.
int make_ring(io_uring& ring, unsigned entries);
int probe_ring();

class Uring final : public IoEngine, public LoopHook {
 public:
  static constexpr int kMaxInFlight = 64;
  static constexpr unsigned kEntries = 128;     // a power of two, at least kMaxInFlight
  static constexpr int kHeldFiles = 4;          // lock descriptors that the ring can hold
  static constexpr uintptr_t kMaxRetries = 16;  // of an operation that returns EAGAIN or EINTR
  static constexpr size_t kMaxTransferBytes = size_t{1} << 30;  // larger transfers become short

  static Result<std::unique_ptr<Uring>> create(Loop& loop);
  // Waits for operations in flight without calling `done`.
  ~Uring() override;

  void submit(IoOp& op) override;
  int64_t oldest_us(int64_t now_us) override { return queues_.oldest_us(now_us); }
  bool on_turn() override;
  bool may_sleep() override;

  // The ring holds a reference to the open file of `fd` until it is released, the ring is destroyed
  // or, if the process dies, its last operation has landed. RESOURCE_EXHAUSTED if all kHeldFiles
  // are taken.
  Result<int> hold_file(int fd);
  void release_file(int slot);

  // The set-up in use: "defer_taskrun", "coop_taskrun" or "plain".
  std::string_view setup() const;

  // For tests of error paths: the next operation becomes a NOP that the kernel completes with
  // `result` (Linux 6.10 and later; elsewhere the result is 0 or -EINVAL).
  void inject_next_result(int result) { injected_ = result; }

 private:
  explicit Uring(Loop& loop) : loop_(loop) {}
  bool start_operations();
  bool reap();
  void finish(IoOp& op, int result);
  void prepare(io_uring_sqe& sqe, IoOp& op);
  void watch_eventfd();

  Loop& loop_;
  io_uring ring_ = {};
  bool ring_ready_ = false;
  bool files_ready_ = false;
  bool hooked_ = false;
  IoQueues queues_{kMaxInFlight};
  std::array<bool, kHeldFiles> held_ = {};
  std::optional<asio::posix::stream_descriptor> eventfd_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // checked by Asio handlers
  std::optional<int> injected_;
};

}  // namespace cellar
