#include "io/disk/uring.h"

#include <algorithm>
#include <cerrno>

#include "io/base/check.h"

namespace cellar {
namespace {

// From linux/io_uring.h of Linux 6.10; missing in older headers.
constexpr unsigned kNopInjectResult = 1u << 0;

}  // namespace

Uring::Uring(std::shared_ptr<Ring> ring) : ring_(std::move(ring)) {
  for (Slot& slot : slots_) {
    slot.engine = this;
    free_.push_back(&slot);
  }
}

Uring::~Uring() {
  CHECK(queues_.empty(), "an io_uring is destroyed with operations queued");
  for (Slot& slot : slots_) ring_->withdraw(slot);
}

void Uring::submit(IoOp& op) {
  op.owner = nullptr;  // here: the retry count
  op.result = 0;
  queues_.push(op);
  const bool at_once = queues_.in_flight() == 0;
  start_operations();
  if (at_once) ring_->flush();
}

void Uring::start_operations() {
  while (!free_.empty() && queues_.may_start()) {
    Slot& slot = *free_.back();
    free_.pop_back();
    slot.op = queues_.pop();
    ring_->submit(slot);
  }
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
}

void Uring::Slot::done(int result) {
  IoOp& finished = *op;
  engine->free_.push_back(this);
  engine->finish(finished, result);
}

void Uring::finish(IoOp& op, int result) {
  queues_.finished(op);
  if (result == -EAGAIN || result == -EINTR) {
    const auto tried = reinterpret_cast<uintptr_t>(op.owner);
    if (tried < kMaxRetries) {
      op.owner = reinterpret_cast<void*>(tried + 1);
      queues_.push_front(op);
      return start_operations();
    }
  }
  start_operations();  // before `done`, which may destroy this
  op.result = result;
  op.done(op);
}

}  // namespace cellar
