#include "io/disk/pool_fs.h"

#include <sys/uio.h>
#include <unistd.h>

#include <array>
#include <cerrno>

#include "io/base/check.h"

namespace cellar {
namespace {

// -errno or the answer of the call; interrupted calls are made again.
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

class PoolEngine final : public IoEngine {
 public:
  PoolEngine(Loop& loop, BlockingPool& pool) : executor_(loop.executor()), pool_(pool) {
    for (Slot& slot : slots_) {
      slot.engine = this;
      slot.run = &run_slot;
      slot.next_free = free_;
      free_ = &slot;
    }
  }
  ~PoolEngine() override {
    CHECK(queues_.in_flight() == 0 && queues_.empty(), "destroyed with operations in flight");
  }

  void submit(IoOp& op) override {
    queues_.push(op);
    start();
  }

 private:
  struct Slot : BlockingPool::Job {
    PoolEngine* engine = nullptr;
    IoOp* op = nullptr;
    Slot* next_free = nullptr;
    std::optional<asio::executor_work_guard<ShardExecutor>> work;
  };

  static void run_slot(BlockingPool::Job& job) {
    auto& slot = static_cast<Slot&>(job);
    slot.op->result = carry_out(*slot.op);
    const ShardExecutor executor = slot.engine->executor_;
    asio::post(executor, [&slot] { slot.engine->finish(slot); });
  }

  void start() {
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

  void finish(Slot& slot) {
    IoOp& op = *slot.op;
    slot.work.reset();
    slot.next_free = free_;
    free_ = &slot;
    queues_.finished(op);
    start();
    op.done(op);
  }

  const ShardExecutor executor_;
  BlockingPool& pool_;
  IoQueues queues_;
  std::array<Slot, PoolFs::kMaxInFlight> slots_;
  Slot* free_ = nullptr;
};

PoolFs::PoolFs(Loop& loop, BlockingPool& pool, std::unique_ptr<PosixDir> root)
    : PosixFs(loop, pool, std::move(root)), engine_(std::make_unique<PoolEngine>(loop, pool)) {}

PoolFs::~PoolFs() = default;

IoEngine& PoolFs::engine() { return *engine_; }

Result<std::unique_ptr<FileSystem>> PoolFs::create(Loop& loop, const std::string& root,
                                                   BlockingPool& pool) {
  TRY(auto dir, PosixDir::open_root(root));
  return std::unique_ptr<FileSystem>(new PoolFs(loop, pool, std::move(dir)));
}

}  // namespace cellar
