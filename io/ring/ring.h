// Ring: the io_uring of one loop, shared by what reads files and sockets on that loop.
//
// Operations gather during a loop turn, and the ring's hook submits them with one system call.
// Completions are delivered before the hooks of a turn, inside a handler of the io_context. While
// the loop is awake the ring's eventfd is disabled and a turn costs one look at shared memory;
// before the loop sleeps the eventfd is armed, and a completion then wakes the loop through Asio.
//
//   struct Read final : RingOp {
//     void prepare(io_uring_sqe& sqe) override { io_uring_prep_read(&sqe, fd, data, size, 0); }
//     void done(int result) override { ... }
//   };
//   ring.submit(read);  // done() follows in a later turn
//
// Invariants:
// - An operation is idle, queued (not yet known to the kernel) or in flight (the kernel may use its
//   memory). done() is called once for each submit(), from deliver(), after the operation
//   became idle; it may submit the operation again or destroy it.
// - After withdraw() the kernel no longer uses the operation's memory, and done() is not called.
// - The ring is created, used and destroyed on the loop's thread (IORING_SETUP_SINGLE_ISSUER), and
//   with nothing queued or in flight.
// - The kernel keeps completions for which the completion queue has no room, so the number of
//   operations in flight has no bound here. Owners bound theirs.
#pragma once

#include <liburing.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>

#include <boost/asio/posix/stream_descriptor.hpp>

#include "io/base/result.h"
#include "io/loop/loop.h"
#include "io/loop/waiter.h"

namespace cellar {

// Makes a ring with the best set-up known to the kernel: DEFER_TASKRUN (6.1), COOP_TASKRUN (5.19),
// plain. Returns 0 or -errno. probe_ring() also checks that reads, writes, syncs, receives and
// polls are supported (-ENOSYS if not) and leaves no ring.
int make_ring(io_uring& ring, unsigned entries);
int probe_ring();

// One operation. Belongs to its owner.
class RingOp : public AutoUnlink {
 public:
  RingOp() = default;
  RingOp(const RingOp&) = delete;
  RingOp& operator=(const RingOp&) = delete;

  bool idle() const { return state_ == State::idle; }

 protected:
  ~RingOp() = default;  // REQUIRES: idle()

 private:
  friend class Ring;
  enum class State : uint8_t { idle, queued, in_flight };

  // Fills in the entry, except its user data. Called when the operation is submitted.
  virtual void prepare(io_uring_sqe& sqe) = 0;
  // Called inside a handler of the io_context. `result`: as the system call's, -errno on an error.
  virtual void done(int result) = 0;

  State state_ = State::idle;
};

class Ring final : public LoopHook {
 public:
  static constexpr unsigned kEntries = 128;  // of one submission; a power of two
  static constexpr int kHeldFiles = 4;       // lock descriptors that the ring can hold

  // The ring of `loop`, made if there is none. It lives as long as somebody holds it. Errors: of
  // io_uring_setup(2).
  static Result<std::shared_ptr<Ring>> of(Loop& loop);
  ~Ring() override;

  // REQUIRES: op.idle().
  void submit(RingOp& op);
  // Submits at once what has gathered.
  void flush();
  // Makes `op` idle: takes it from the queue, or cancels it and waits until the kernel has finished
  // with it.
  void withdraw(RingOp& op);

  bool deliver() override;
  bool on_turn() override;
  bool may_sleep() override;

  // The ring holds a reference to the open file of `fd` until it is released, the ring is destroyed
  // or, if the process dies, its last operation has landed. RESOURCE_EXHAUSTED if all kHeldFiles
  // are taken.
  Result<int> hold_file(int fd);
  void release_file(int slot);

  // Whether the kernel knows IORING_RECVSEND_POLL_FIRST: it came with COOP_TASKRUN, in 5.19.
  bool knows_poll_first() const;
  // The set-up in use: "defer_taskrun", "coop_taskrun" or "plain".
  std::string_view setup() const;

 private:
  explicit Ring(Loop& loop) : loop_(loop) {}
  Result<void> open();
  bool fill_submission();
  void enter(bool get_events);
  bool reap();
  bool deliver_put_aside();
  RingOp* take_completion(int& result);
  bool cancel(RingOp& op);
  void wait_for_one(RingOp& op);
  void watch_eventfd();

  Loop& loop_;
  io_uring ring_ = {};
  bool ring_ready_ = false;
  bool files_ready_ = false;
  bool hooked_ = false;
  bool eventfd_armed_ = false;
  boost::intrusive::list<RingOp, boost::intrusive::base_hook<AutoUnlink>,
                         boost::intrusive::constant_time_size<false>>
      queue_;
  size_t in_flight_ = 0;
  // Completed while withdraw() waited for another.
  std::deque<std::pair<RingOp*, int>> put_aside_;
  std::array<bool, kHeldFiles> held_ = {};
  std::optional<asio::posix::stream_descriptor> eventfd_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // checked by Asio handlers
};

}  // namespace cellar
