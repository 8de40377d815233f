#include "io/sim/mem_fs.h"

#include <functional>
#include <list>

#include <boost/asio/execution_context.hpp>
#include <boost/asio/post.hpp>

#include "io/base/aligned_buffer.h"
#include "io/base/check.h"
#include "io/loop/waiter.h"
#include "io/sim/drops_unsynced.h"
#include "io/sim/io_guard.h"

namespace cellar {

// Completions and their times. Shared by the file system, its files and the functions it has posted
// to the loop.
class MemQueue : public std::enable_shared_from_this<MemQueue> {
 public:
  using Work = std::function<void()>;

  MemQueue(ShardExecutor executor, const MemFsOptions& options)
      : executor_(std::move(executor)), options_(options) {}

  void add(Work work) {
    if (halted_) return;
    if (options_.timers != nullptr && options_.max_latency_us > 0) {
      add_after_us(latency_us(), std::move(work));
      return;
    }
    ready_.push_back(std::move(work));
    asio::post(executor_, [self = shared_from_this()] { self->run_one(); });
  }

  // REQUIRES: options.timers
  void add_after_us(int64_t delay_us, Work work) {
    if (halted_) return;
    late_.emplace_back(*this, std::move(work));
    late_.back().self = std::prev(late_.end());
    late_.back().timer.arm_after_us(delay_us);
  }

  // Yields to the loop, as an operation of a real disk would.
  Async<void> turn() {
    Waiter waiter;
    add([&waiter] { waiter.resume(); });
    co_await waiter.wait();
  }

  Async<void> sleep_us(int64_t delay_us) {
    Waiter waiter;
    add_after_us(delay_us, [&waiter] { waiter.resume(); });
    co_await waiter.wait();
  }

  void halt() {
    halted_ = true;
    ready_.clear();
    late_.clear();
  }
  bool halted() const { return halted_; }

 private:
  struct Late {
    Late(MemQueue& q, Work w)
        : queue(q), work(std::move(w)), timer(*q.options_.timers, &fire, this) {}
    static void fire(void* context) {
      auto* late = static_cast<Late*>(context);
      MemQueue& queue = late->queue;
      const Work work = std::move(late->work);
      queue.late_.erase(late->self);
      work();
    }
    MemQueue& queue;
    Work work;
    Timer timer;
    std::list<Late>::iterator self;
  };

  int64_t latency_us() {
    const int64_t spread = options_.max_latency_us - options_.min_latency_us;
    if (options_.random == nullptr || spread <= 0) return options_.max_latency_us;
    const auto extra = options_.random->below(static_cast<uint64_t>(spread) + 1);
    return options_.min_latency_us + static_cast<int64_t>(extra);
  }

  void run_one() {
    if (ready_.empty()) return;  // halted meanwhile
    const size_t at = options_.random == nullptr ? 0 : options_.random->below(ready_.size());
    const Work work = std::move(ready_[at]);
    ready_.erase(ready_.begin() + static_cast<ptrdiff_t>(at));
    work();
  }

  const ShardExecutor executor_;
  const MemFsOptions options_;
  std::vector<Work> ready_;
  std::list<Late> late_;
  bool halted_ = false;
};

namespace {

// Halts the queues of an io_context under destruction, which is how a simulated process dies:
// before Asio destroys the coroutines whose operations are in flight.
class MemQueues final : public asio::execution_context::service {
 public:
  using key_type = MemQueues;
  static inline asio::execution_context::id id;

  explicit MemQueues(asio::execution_context& context) : service(context) {}
  void add(const std::shared_ptr<MemQueue>& queue) {
    std::erase_if(queues_, [](const auto& known) { return known.expired(); });
    queues_.push_back(queue);
  }

 private:
  void shutdown() override {
    for (const auto& known : queues_) {
      if (const auto queue = known.lock()) queue->halt();
    }
  }
  std::vector<std::weak_ptr<MemQueue>> queues_;
};

class MemFile final : public File, public DropsUnsynced {
 public:
  MemFile(MemDisk& disk, MemDisk::Node node, std::shared_ptr<MemQueue> queue, std::string path,
          OpenOptions options)
      : disk_(disk),
        node_(std::move(node)),
        queue_(std::move(queue)),
        path_(std::move(path)),
        options_(options) {}

  ~MemFile() override {
    CHECK(guard_.idle() || queue_->halted(), "'{}' is destroyed with operations in flight", path_);
  }

  void submit(IoOp& op) override {
    guard_.begin(op, alignment(), path_);
    CHECK(op.kind == IoOp::Kind::read || options_.mode != OpenOptions::Mode::read,
          "'{}' is open for reading only", path_);
    if (queue_->halted()) return;
    disk_.begin(node_, op);
    const auto in_flight = std::make_shared<InFlight>(disk_, op);
    queue_->add([this, in_flight] {
      IoOp& done = *std::exchange(in_flight->op, nullptr);
      disk_.end(done);
      guard_.end(done);
      done.done(done);
    });
  }

  Async<Result<void>> allocate(uint64_t offset, uint64_t size) override {
    guard_.check_open(path_);
    co_await queue_->turn();
    if (offset + size <= disk_.size_of(*node_)) co_return Result<void>();
    co_return disk_.resize(*node_, offset + size, path_);
  }
  Async<Result<void>> truncate(uint64_t size) override {
    guard_.check_open(path_);
    co_await queue_->turn();
    co_return disk_.resize(*node_, size, path_);
  }
  Async<Result<uint64_t>> size() override {
    guard_.check_open(path_);
    co_await queue_->turn();
    co_return disk_.size_of(*node_);
  }
  Async<Result<void>> close() override {
    guard_.close(path_);
    co_await queue_->turn();
    co_return Result<void>();
  }
  size_t alignment() const override { return options_.direct ? kIoAlignment : 1; }
  const std::string& path() const override { return path_; }
  void drop_unsynced() override { disk_.drop_unsynced(*node_); }

 private:
  // If the queue is halted instead, the disk must not access the waiter's memory.
  struct InFlight {
    InFlight(MemDisk& d, IoOp& o) : disk(d), op(&o) {}
    ~InFlight() {
      if (op != nullptr) disk.forget(*op);
    }
    InFlight(const InFlight&) = delete;
    InFlight& operator=(const InFlight&) = delete;
    MemDisk& disk;
    IoOp* op;
  };

  MemDisk& disk_;
  const MemDisk::Node node_;
  const std::shared_ptr<MemQueue> queue_;
  const std::string path_;
  const OpenOptions options_;
  IoGuard guard_;
};

class MemLock final : public FileLock {
 public:
  MemLock(MemDisk& disk, std::string path) : disk_(disk), path_(std::move(path)) {}
  ~MemLock() override { disk_.unlock(path_); }

 private:
  MemDisk& disk_;
  const std::string path_;
};

}  // namespace

MemFs::MemFs(ShardExecutor executor, MemDisk& disk, MemFsOptions options)
    : disk_(disk), options_(options), queue_(std::make_shared<MemQueue>(executor, options)) {
  asio::use_service<MemQueues>(executor.context()).add(queue_);
}

MemFs::~MemFs() { halt(); }

void MemFs::halt() { queue_->halt(); }

Async<Result<std::unique_ptr<File>>> MemFs::open(std::string path, OpenOptions options) {
  co_await queue_->turn();
  CO_TRY(auto node, disk_.open(path, options.mode));
  co_return std::make_unique<MemFile>(disk_, std::move(node), queue_, std::move(path), options);
}

Async<Result<void>> MemFs::remove(std::string path) {
  co_await queue_->turn();
  co_return disk_.remove(path);
}

Async<Result<void>> MemFs::rename(std::string from, std::string to) {
  co_await queue_->turn();
  co_return disk_.rename(from, to);
}

Async<Result<void>> MemFs::create_dir(std::string path) {
  co_await queue_->turn();
  co_return disk_.create_dir(path);
}

Async<Result<void>> MemFs::sync_dir(std::string path) {
  co_await queue_->turn();
  co_return disk_.sync_dir(path);
}

Async<Result<std::vector<DirEntry>>> MemFs::list(std::string path) {
  co_await queue_->turn();
  co_return disk_.list(path);
}

Async<Result<uint64_t>> MemFs::free_bytes() {
  co_await queue_->turn();
  co_return disk_.free_bytes();
}

Async<Result<std::unique_ptr<FileLock>>> MemFs::lock(std::string path) {
  constexpr int kRetryEveryMs = 50;
  co_await queue_->turn();
  auto created = disk_.open(path, OpenOptions::Mode::create_new);
  if (!created && created.error().code != Errc::already_exists) {
    co_return std::unexpected(std::move(created).error());
  }
  for (int waited_ms = 0;; waited_ms += kRetryEveryMs) {
    if (disk_.try_lock(path)) co_return std::make_unique<MemLock>(disk_, std::move(path));
    if (options_.timers == nullptr || waited_ms >= kLockRetryMs) break;
    co_await queue_->sleep_us(int64_t{kRetryEveryMs} * 1000);
  }
  co_return fail(Errc::failed_precondition,
                 "'{}' is locked by another user of the same disk in memory", path);
}

}  // namespace cellar
