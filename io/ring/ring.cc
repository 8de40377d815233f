#include "io/ring/ring.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include <boost/asio/buffer.hpp>

#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar {
namespace {

constexpr unsigned kCompletionsPerEntry = 4;
constexpr int kMostEnters = 4;  // to finish operations, in a turn

bool wants_task_work(const io_uring& ring) {
  return (__atomic_load_n(ring.sq.kflags, __ATOMIC_RELAXED) &
          (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

// Short of memory or interrupted, a call has submitted less, and the rest goes with the next one.
void check_entered(int result) {
  CHECK(
      result >= 0 || result == -EAGAIN || result == -EBUSY || result == -EINTR || result == -ENOMEM,
      "io_uring_enter answered {}", result);
}

// Finds the ring of an io_context.
class RingService final : public asio::execution_context::service {
 public:
  using key_type = RingService;
  static inline asio::execution_context::id id;

  explicit RingService(asio::execution_context& context) : service(context) {}
  std::weak_ptr<Ring> ring;

 private:
  void shutdown() override {}
};

}  // namespace

int make_ring(io_uring& ring, unsigned entries) {
  constexpr unsigned kSetups[] = {
      IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
      IORING_SETUP_COOP_TASKRUN | IORING_SETUP_TASKRUN_FLAG,
      0,
  };
  int result = -EINVAL;
  for (const unsigned flags : kSetups) {
    io_uring_params params = {};
    params.flags = flags | IORING_SETUP_CQSIZE;
    params.cq_entries = entries * kCompletionsPerEntry;
    result = io_uring_queue_init_params(entries, &ring, &params);
    if (result != -EINVAL) return result;
  }
  return result;
}

int probe_ring() {
  io_uring ring;
  const int made = make_ring(ring, 4);
  if (made < 0) return made;
  int result = -ENOSYS;
  if (io_uring_probe* probe = io_uring_get_probe_ring(&ring); probe != nullptr) {
    constexpr std::array kNeeded = {IORING_OP_READ, IORING_OP_WRITE, IORING_OP_FSYNC,
                                    IORING_OP_RECV, IORING_OP_POLL_ADD};
    const bool all = std::ranges::all_of(
        kNeeded, [&](int op) { return io_uring_opcode_supported(probe, op) != 0; });
    if (all) result = 0;
    io_uring_free_probe(probe);
  }
  io_uring_queue_exit(&ring);
  return result;
}

Result<std::shared_ptr<Ring>> Ring::of(Loop& loop) {
  std::weak_ptr<Ring>& known = asio::use_service<RingService>(loop.context()).ring;
  if (auto ring = known.lock()) return ring;
  std::shared_ptr<Ring> ring(new Ring(loop));
  TRY_VOID(ring->open());
  known = ring;
  return ring;
}

Result<void> Ring::open() {
  if (const int made = make_ring(ring_, kEntries); made < 0) {
    return std::unexpected(os_error(-made, "setting up an io_uring"));
  }
  ring_ready_ = true;
  const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return std::unexpected(os_error(errno, "creating the eventfd of an io_uring"));
  eventfd_.emplace(loop_.executor(), fd);
  if (const int result = io_uring_register_eventfd(&ring_, fd); result < 0) {
    return std::unexpected(os_error(-result, "registering the eventfd of an io_uring"));
  }
  io_uring_cq_eventfd_toggle(&ring_, false);
  watch_eventfd();
  loop_.add_hook(*this);
  hooked_ = true;
  return {};
}

Ring::~Ring() {
  if (!ring_ready_) return;
  if (hooked_) loop_.remove_hook(*this);
  CHECK(queue_.empty() && in_flight_ == 0 && put_aside_.empty(),
        "an io_uring is destroyed with {} operations in flight", in_flight_);
  io_uring_queue_exit(&ring_);
}

std::string_view Ring::setup() const {
  if ((ring_.flags & IORING_SETUP_DEFER_TASKRUN) != 0) return "defer_taskrun";
  return (ring_.flags & IORING_SETUP_COOP_TASKRUN) != 0 ? "coop_taskrun" : "plain";
}

bool Ring::knows_poll_first() const {
  return (ring_.flags & (IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_COOP_TASKRUN)) != 0;
}

void Ring::watch_eventfd() {
  // The handler wakes the loop. It may run after this is destroyed, with an error or, if already
  // queued, without one.
  auto count = std::make_shared<uint64_t>(0);
  const std::weak_ptr<int> alive = alive_;
  eventfd_->async_read_some(asio::buffer(count.get(), sizeof *count),
                            [this, count, alive](const boost::system::error_code& error, size_t) {
                              if (alive.expired() || error) return;
                              watch_eventfd();
                              deliver();
                            });
}

void Ring::submit(RingOp& op) {
  DCHECK(op.idle(), "an operation is submitted twice");
  op.state_ = RingOp::State::queued;
  queue_.push_back(op);
}

// Moves queued operations to the submission queue. False: it is full before they are all there.
bool Ring::fill_submission() {
  while (!queue_.empty()) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) return false;
    RingOp& op = queue_.front();
    queue_.pop_front();
    op.prepare(*sqe);
    io_uring_sqe_set_data(sqe, &op);  // after prep, which resets it in some versions of liburing
    op.state_ = RingOp::State::in_flight;
    ++in_flight_;
  }
  return true;
}

// Submits, and lets the kernel carry out what completed operations have left to do.
void Ring::enter(bool get_events) {
  check_entered(get_events ? io_uring_submit_and_get_events(&ring_) : io_uring_submit(&ring_));
}

void Ring::flush() {
  while (!queue_.empty() || io_uring_sq_ready(&ring_) > 0) {
    const bool all = fill_submission();
    const unsigned before = io_uring_sq_ready(&ring_);
    enter(false);
    if (all || io_uring_sq_ready(&ring_) == before) return;
  }
}

RingOp* Ring::take_completion(int& result) {
  io_uring_cqe* cqe = nullptr;
  while (io_uring_cq_ready(&ring_) > 0 && io_uring_peek_cqe(&ring_, &cqe) == 0) {
    auto* op = static_cast<RingOp*>(io_uring_cqe_get_data(cqe));
    result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    if (op == nullptr) continue;  // a cancellation
    --in_flight_;
    return op;
  }
  return nullptr;
}

// Delivers the completions that are there now: those that follow from them wait for the next turn.
bool Ring::reap() {
  const unsigned ready = io_uring_cq_ready(&ring_);
  for (unsigned i = 0; i < ready; ++i) {
    int result = 0;
    RingOp* op = take_completion(result);
    if (op == nullptr) break;  // a handler has withdrawn an operation
    op->state_ = RingOp::State::idle;
    op->done(result);
  }
  return ready > 0;
}

bool Ring::deliver_put_aside() {
  const size_t count = put_aside_.size();
  for (size_t i = 0; i < count && !put_aside_.empty(); ++i) {
    const auto [op, result] = put_aside_.front();
    put_aside_.pop_front();
    op->state_ = RingOp::State::idle;
    op->done(result);
  }
  return count > 0;
}

void Ring::withdraw(RingOp& op) {
  if (op.state_ == RingOp::State::queued) op.unlink();
  std::erase_if(put_aside_, [&](const auto& one) {
    if (one.first != &op) return false;
    op.state_ = RingOp::State::idle;
    return true;
  });
  if (op.state_ == RingOp::State::in_flight) {
    bool cancelled = false;
    while (op.state_ == RingOp::State::in_flight) {
      if (!cancelled) cancelled = cancel(op);
      wait_for_one(op);
    }
  }
  op.state_ = RingOp::State::idle;
}

// An operation that still waits ends with ECANCELED and no longer touches its memory. False: there
// is no room for the cancellation.
bool Ring::cancel(RingOp& op) {
  io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
  if (sqe == nullptr) {
    enter(false);
    sqe = io_uring_get_sqe(&ring_);
  }
  if (sqe == nullptr) return false;
  io_uring_prep_cancel(sqe, &op, 0);
  io_uring_sqe_set_data(sqe, nullptr);
  return true;
}

void Ring::wait_for_one(RingOp& op) {
  check_entered(io_uring_submit_and_wait(&ring_, 1));
  int result = 0;
  while (RingOp* completed = take_completion(result)) {
    if (completed == &op) {
      op.state_ = RingOp::State::idle;
    } else {
      put_aside_.emplace_back(completed, result);
    }
  }
}

bool Ring::deliver() {
  if (std::exchange(eventfd_armed_, false)) io_uring_cq_eventfd_toggle(&ring_, false);
  bool worked = deliver_put_aside();
  // The kernel finishes some 20 operations at a time.
  for (int i = 0; i < kMostEnters && wants_task_work(ring_); ++i) enter(true);
  if (in_flight_ > 0 && reap()) worked = true;
  return worked;
}

bool Ring::on_turn() {
  flush();
  return false;  // what completed at once keeps the loop awake, see may_sleep()
}

bool Ring::may_sleep() {
  if (!queue_.empty() || io_uring_sq_ready(&ring_) > 0 || !put_aside_.empty()) return false;
  if (in_flight_ == 0) return true;
  io_uring_cq_eventfd_toggle(&ring_, true);
  eventfd_armed_ = true;
  // A completion between the last look and the arming raised no event. The fence orders the arming
  // before this look; the kernel publishes first and then tests whether the event is armed.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return io_uring_cq_ready(&ring_) == 0 && !wants_task_work(ring_);
}

Result<int> Ring::hold_file(int fd) {
  if (!files_ready_) {
    if (const int result = io_uring_register_files_sparse(&ring_, kHeldFiles); result < 0) {
      return std::unexpected(os_error(-result, "registering a file table with an io_uring"));
    }
    files_ready_ = true;
  }
  const auto free = std::ranges::find(held_, false);
  if (free == held_.end()) {
    return fail(Errc::resource_exhausted, "an io_uring holds {} locks, which is its bound",
                kHeldFiles);
  }
  const auto slot = static_cast<int>(free - held_.begin());
  const int result = io_uring_register_files_update(&ring_, static_cast<unsigned>(slot), &fd, 1);
  if (result < 0) return std::unexpected(os_error(-result, "registering a lock with an io_uring"));
  *free = true;
  return slot;
}

void Ring::release_file(int slot) {
  int none = -1;
  const int result = io_uring_register_files_update(&ring_, static_cast<unsigned>(slot), &none, 1);
  if (result < 0) log_warn("disk", "releasing a lock from an io_uring failed: {}", result);
  held_[static_cast<size_t>(slot)] = false;
}

}  // namespace cellar
