#include "io/disk/pool_engine.h"

#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>

#include <boost/asio/post.hpp>

#include "io/base/check.h"

namespace cellar {
namespace {

// Returns the result of the call or -errno; interrupted calls are repeated.
int64_t carry_out(const IoOp& op) {
  iovec part{op.data, op.size};
  const auto offset = static_cast<off_t>(op.offset);
  while (true) {
    ssize_t result = 0;
    switch (op.kind) {
      case IoOp::Kind::read:
        result = ::pread(op.fd, op.data, op.size, offset);
        break;
      case IoOp::Kind::write:
        result = ::pwritev2(op.fd, &part, 1, offset, op.dsync ? RWF_DSYNC : 0);
        break;
      case IoOp::Kind::sync:
        result = ::fdatasync(op.fd);
        break;
    }
    if (result >= 0) return result;
    if (errno != EINTR) return -errno;
  }
}

}  // namespace

PoolEngine::PoolEngine(Loop& loop, BlockingPool& pool) : executor_(loop.executor()), pool_(pool) {
  for (Slot& slot : slots_) {
    slot.engine = this;
    slot.run = &run_slot;
    slot.next_free = free_;
    free_ = &slot;
  }
}

PoolEngine::~PoolEngine() {
  CHECK(queues_.in_flight() == 0 && queues_.empty(), "destroyed with operations in flight");
}

void PoolEngine::submit(IoOp& op) {
  queues_.push(op);
  start();
}

void PoolEngine::run_slot(BlockingPool::Job& job) {
  auto& slot = static_cast<Slot&>(job);
  slot.op->result = carry_out(*slot.op);
  const ShardExecutor executor = slot.engine->executor_;
  asio::post(executor, [&slot] { slot.engine->finish(slot); });
}

void PoolEngine::start() {
  while (free_ != nullptr) {
    IoOp* op = queues_.pop();
    if (op == nullptr) return;
    Slot& slot = *free_;
    free_ = slot.next_free;
    slot.op = op;
    slot.work.emplace(executor_);
    pool_.submit(slot);
  }
}

void PoolEngine::finish(Slot& slot) {
  IoOp& op = *slot.op;
  slot.work.reset();
  slot.next_free = free_;
  free_ = &slot;
  queues_.finished(op);
  start();
  op.done(op);
}

}  // namespace cellar
