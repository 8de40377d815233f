#include "io/disk/uring.h"

#include <sys/eventfd.h>

#include <algorithm>
#include <cerrno>

#include <boost/asio/buffer.hpp>

#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar {
namespace {

// From linux/io_uring.h of Linux 6.10; missing in older headers.
constexpr unsigned kNopInjectResult = 1u << 0;

bool wants_task_work(const io_uring& ring) {
  return (__atomic_load_n(ring.sq.kflags, __ATOMIC_RELAXED) &
          (IORING_SQ_TASKRUN | IORING_SQ_CQ_OVERFLOW)) != 0;
}

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
    params.cq_entries = entries * 4;
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
    const bool all = io_uring_opcode_supported(probe, IORING_OP_READ) != 0 &&
                     io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0 &&
                     io_uring_opcode_supported(probe, IORING_OP_FSYNC) != 0;
    if (all) result = 0;
    io_uring_free_probe(probe);
  }
  io_uring_queue_exit(&ring);
  return result;
}

Result<std::unique_ptr<Uring>> Uring::create(Loop& loop) {
  std::unique_ptr<Uring> self(new Uring(loop));
  if (const int made = make_ring(self->ring_, kEntries); made < 0) {
    return std::unexpected(os_error(-made, "setting up an io_uring"));
  }
  self->ring_ready_ = true;
  const int fd = ::eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
  if (fd < 0) return std::unexpected(os_error(errno, "creating the eventfd of an io_uring"));
  self->eventfd_.emplace(loop.executor(), fd);
  if (const int result = io_uring_register_eventfd(&self->ring_, fd); result < 0) {
    return std::unexpected(os_error(-result, "registering the eventfd of an io_uring"));
  }
  io_uring_cq_eventfd_toggle(&self->ring_, false);
  self->watch_eventfd();
  loop.add_hook(*self);
  self->hooked_ = true;
  return self;
}

Uring::~Uring() {
  if (!ring_ready_) return;
  if (hooked_) loop_.remove_hook(*this);
  CHECK(queues_.empty(), "an io_uring is destroyed with operations queued");
  for (int left = queues_.in_flight(); left > 0;) {
    io_uring_cqe* cqe = nullptr;
    const int waited = io_uring_submit_and_wait(&ring_, 1);
    CHECK(waited >= 0 || waited == -EINTR || waited == -EAGAIN, "waiting for writes: {}", waited);
    while (io_uring_peek_cqe(&ring_, &cqe) == 0) {
      io_uring_cqe_seen(&ring_, cqe);
      --left;
    }
  }
  io_uring_queue_exit(&ring_);
}

std::string_view Uring::setup() const {
  if ((ring_.flags & IORING_SETUP_DEFER_TASKRUN) != 0) return "defer_taskrun";
  return (ring_.flags & IORING_SETUP_COOP_TASKRUN) != 0 ? "coop_taskrun" : "plain";
}

void Uring::watch_eventfd() {
  // The handler only wakes the loop: the hook of the same turn reaps the ring. It may run after
  // this is destroyed, with an error or, if already queued, without one.
  auto count = std::make_shared<uint64_t>(0);
  const std::weak_ptr<int> alive = alive_;
  eventfd_->async_read_some(asio::buffer(count.get(), sizeof *count),
                            [this, count, alive](const boost::system::error_code& error, size_t) {
                              if (alive.expired() || error) return;
                              watch_eventfd();
                            });
}

void Uring::submit(IoOp& op) {
  op.owner = nullptr;  // here: the retry count
  op.result = 0;
  queues_.push(op);
  if (queues_.in_flight() == 0) start_operations();
}

void Uring::prepare(io_uring_sqe& sqe, IoOp& op) {
  const auto size = static_cast<unsigned>(std::min(op.size, kMaxTransferBytes));
  if (injected_) {
    io_uring_prep_nop(&sqe);
    sqe.len = static_cast<unsigned>(*injected_);
    sqe.rw_flags = static_cast<int>(kNopInjectResult);
    injected_.reset();
  } else if (op.kind == IoOp::Kind::read) {
    io_uring_prep_read(&sqe, op.fd, op.data, size, op.offset);
  } else if (op.kind == IoOp::Kind::write) {
    io_uring_prep_write(&sqe, op.fd, op.data, size, op.offset);
    if (op.dsync) sqe.rw_flags = RWF_DSYNC;
  } else {
    io_uring_prep_fsync(&sqe, op.fd, IORING_FSYNC_DATASYNC);
  }
  io_uring_sqe_set_data(&sqe, &op);  // after prep, because prep in some liburing versions resets it
}

bool Uring::start_operations() {
  while (queues_.in_flight() < kMaxInFlight && queues_.may_start()) {
    io_uring_sqe* sqe = io_uring_get_sqe(&ring_);
    if (sqe == nullptr) break;
    prepare(*sqe, *queues_.pop());
  }
  if (io_uring_sq_ready(&ring_) == 0) return false;
  const int submitted = io_uring_submit(&ring_);
  // Short of memory or interrupted: the remaining queue is submitted in the next turn.
  CHECK(submitted >= 0 || submitted == -EAGAIN || submitted == -EBUSY || submitted == -EINTR ||
            submitted == -ENOMEM,
        "io_uring_submit answered {}", submitted);
  return submitted > 0;
}

bool Uring::reap() {
  if (wants_task_work(ring_)) io_uring_get_events(&ring_);
  bool any = false;
  io_uring_cqe* cqe = nullptr;
  while (io_uring_cq_ready(&ring_) > 0 && io_uring_peek_cqe(&ring_, &cqe) == 0) {
    auto* op = static_cast<IoOp*>(io_uring_cqe_get_data(cqe));
    const int result = cqe->res;
    io_uring_cqe_seen(&ring_, cqe);
    finish(*op, result);
    any = true;
  }
  return any;
}

void Uring::finish(IoOp& op, int result) {
  queues_.finished(op);
  if (result == -EAGAIN || result == -EINTR) {
    const auto tried = reinterpret_cast<uintptr_t>(op.owner);
    if (tried < kMaxRetries) {
      op.owner = reinterpret_cast<void*>(tried + 1);
      queues_.push_front(op);
      return;
    }
  }
  op.result = result;
  op.done(op);
}

bool Uring::on_turn() {
  io_uring_cq_eventfd_toggle(&ring_, false);
  bool worked = start_operations();
  if (queues_.in_flight() > 0 && reap()) worked = true;
  return worked;
}

bool Uring::may_sleep() {
  if (io_uring_sq_ready(&ring_) > 0) return false;
  if (queues_.in_flight() < kMaxInFlight && queues_.may_start()) return false;
  if (queues_.in_flight() == 0) return true;
  io_uring_cq_eventfd_toggle(&ring_, true);
  // A completion between the last look and the arming raised no event. The fence orders the arming
  // before this look; the kernel publishes first and then tests whether the event is armed.
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  return io_uring_cq_ready(&ring_) == 0 && !wants_task_work(ring_);
}

Result<int> Uring::hold_file(int fd) {
  if (!files_ready_) {
    if (const int result = io_uring_register_files_sparse(&ring_, kHeldFiles); result < 0) {
      return std::unexpected(os_error(-result, "registering a file table with an io_uring"));
    }
    files_ready_ = true;
  }
  const auto free = std::find(held_.begin(), held_.end(), false);
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

void Uring::release_file(int slot) {
  int none = -1;
  const int result = io_uring_register_files_update(&ring_, static_cast<unsigned>(slot), &none, 1);
  if (result < 0) log_warn("disk", "releasing a lock from an io_uring failed: {}", result);
  held_[static_cast<size_t>(slot)] = false;
}

}  // namespace cellar
