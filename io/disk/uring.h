// Uring: one io_uring of one shard.
//
// Operations gather in IoQueues during a loop turn; the turn's hook submits them with one system
// call and picks up the completions. Only where nothing is in flight the first goes at once: the
// device would stand still meanwhile, and who scans has much to do in the turn in which it reads
// ahead. While the loop is awake the ring's eventfd is silenced and a turn costs one look at shared
// memory; before the loop sleeps it is armed, and a completion then wakes the loop through Asio.
//
// Invariants: at most kMaxInFlight operations are with the kernel, so the completion queue (twice
// that and more) cannot overflow; `done` of an operation runs only from the hook; the ring is
// created, used and destroyed on the loop's thread (IORING_SETUP_SINGLE_ISSUER).
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

// Makes a ring with the best set-up that the kernel knows: DEFER_TASKRUN (6.1), COOP_TASKRUN
// (5.19), plain. 0 or -errno. The second form also answers whether reads, writes and syncs are
// there
// (-ENOSYS when not) and leaves nothing behind.
int make_ring(io_uring& ring, unsigned entries);
int probe_ring();

class Uring final : public IoEngine, public LoopHook {
 public:
  static constexpr int kMaxInFlight = 64;
  static constexpr unsigned kEntries = 128;     // a power of two, at least kMaxInFlight
  static constexpr int kHeldFiles = 4;          // lock descriptors that the ring may hold
  static constexpr uintptr_t kMaxRetries = 16;  // of an operation that answers EAGAIN or EINTR
  static constexpr size_t kMaxTransferBytes = size_t{1} << 30;  // more becomes a short transfer

  static Result<std::unique_ptr<Uring>> create(Loop& loop);
  // Waits for what is in flight without telling anybody.
  ~Uring() override;

  void submit(IoOp& op) override;
  int64_t oldest_us(int64_t now_us) override { return queues_.oldest_us(now_us); }
  bool on_turn() override;
  bool may_sleep() override;

  // The ring keeps a reference to the open file of `fd` until it is released, destroyed, or, when
  // the process dies, until its last operation has landed. RESOURCE_EXHAUSTED when all
  // kHeldFiles are taken.
  Result<int> hold_file(int fd);
  void release_file(int slot);

  // The set-up that was granted: "defer_taskrun", "coop_taskrun" or "plain".
  std::string_view setup() const;

  // For tests of the error path: the next operation becomes a NOP that the kernel completes with
  // `result` (Linux 6.10 and later; elsewhere the outcome is 0 or -EINVAL).
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
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // asked by handlers of Asio
  std::optional<int> injected_;
};

}  // namespace cellar
