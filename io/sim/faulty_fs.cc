#include "io/sim/faulty_fs.h"

#include <algorithm>
#include <optional>

#include <boost/asio/post.hpp>

#include "io/base/check.h"
#include "io/loop/waiter.h"
#include "io/sim/drops_unsynced.h"
#include "io/sim/io_guard.h"

namespace cellar {

class FaultyFile final : public File {
 public:
  FaultyFile(FaultyFs& fs, std::unique_ptr<File> base) : fs_(fs), base_(std::move(base)) {}

  void submit(IoOp& op) override {
    guard_.begin(op, alignment(), path());
    op.generation = fs_.age_.begin();
    auto& inner = inner_.emplace_back(std::make_unique<Inner>(*this, op));
    inner->effect = fs_.rules_.decide(kNames[static_cast<size_t>(op.kind)], path(), op.offset,
                                      op.offset + op.size);
    if (inner->effect.cut) cut_short(*inner);
    if (inner->effect.delay_us > 0) {
      CHECK(fs_.timers_ != nullptr, "a fault rule with delay_us= needs timers");
      inner->timer.emplace(
          *fs_.timers_, [](void* context) { static_cast<Inner*>(context)->hang_or_start(); },
          inner.get());
      inner->timer->arm_after_us(inner->effect.delay_us);
      return;
    }
    inner->hang_or_start();
  }

  Async<Result<void>> allocate(uint64_t offset, uint64_t size) override {
    CO_TRY_VOID(co_await meet("allocate"));
    co_return co_await base_->allocate(offset, size);
  }
  Async<Result<void>> truncate(uint64_t size) override {
    CO_TRY_VOID(co_await meet("truncate"));
    co_return co_await base_->truncate(size);
  }
  Async<Result<uint64_t>> size() override {
    CO_TRY_VOID(co_await meet("size"));
    co_return co_await base_->size();
  }
  // Like close(), an injected error is reported after the descriptor is gone.
  Async<Result<void>> close() override {
    guard_.close(path());
    auto injected = co_await fs_.meet("close", path());
    auto closed = co_await base_->close();
    if (!injected) co_return injected;
    co_return closed;
  }
  size_t alignment() const override { return base_->alignment(); }
  const std::string& path() const override { return base_->path(); }

 private:
  static constexpr std::string_view kNames[] = {"read", "write", "sync"};

  // The operation passed to the base in place of the caller's.
  struct Inner {
    Inner(FaultyFile& f, IoOp& o) : file(f), outer(o) {
      op.kind = o.kind;
      op.io_class = o.io_class;
      op.dsync = o.dsync;
      op.offset = o.offset;
      op.data = o.data;
      op.size = o.size;
      op.context = this;
      op.done = [](IoOp& done) { static_cast<Inner*>(done.context)->finish(done.result); };
    }

    void hang_or_start() {
      if (!effect.hang) return start();
      file.fs_.hung_.push_back([this, alive = std::weak_ptr<int>(file.alive_)] {
        if (!alive.expired()) start();
      });
    }

    void start() {
      if (effect.error == 0) return file.base_->submit(op);
      if (effect.drop) {
        if (auto* loses = dynamic_cast<DropsUnsynced*>(file.base_.get())) loses->drop_unsynced();
      }
      outer.injected = true;
      asio::post(file.fs_.executor_, [this, alive = std::weak_ptr<int>(file.alive_)] {
        if (!alive.expired()) finish(-effect.error);
      });
    }

    void finish(int64_t result) {
      IoOp& done = outer;
      done.result = result;
      file.fs_.age_.end(done.generation);
      file.guard_.end(done);
      auto& list = file.inner_;
      list.erase(std::find_if(list.begin(), list.end(),
                              [this](const auto& held) { return held.get() == this; }));
      done.done(done);
    }

    FaultyFile& file;
    IoOp& outer;
    IoOp op;
    FaultEffect effect;
    std::optional<Timer> timer;
  };

  // A direct file continues at an aligned offset, so the part is aligned too; a single unit is not
  // cut.
  void cut_short(Inner& inner) {
    const size_t unit = alignment();
    const size_t units = inner.op.size / unit;
    if (inner.op.kind == IoOp::Kind::sync || units < 2) return;
    inner.op.size = (1 + inner.effect.draw % (units - 1)) * unit;
  }

  Async<Result<void>> meet(std::string_view operation) {
    guard_.check_open(path());
    return fs_.meet(operation, path());
  }

  FaultyFs& fs_;
  IoGuard guard_;
  const std::shared_ptr<int> alive_ = std::make_shared<int>(0);
  std::list<std::unique_ptr<Inner>> inner_;
  const std::unique_ptr<File> base_;  // destroyed first: it may still refer to operations of inner_
};

FaultyFs::FaultyFs(ShardExecutor executor, std::unique_ptr<FileSystem> base, FaultRules& rules,
                   Timers* timers)
    : executor_(std::move(executor)), rules_(rules), timers_(timers), base_(std::move(base)) {}

FaultyFs::~FaultyFs() = default;

size_t FaultyFs::release_hung() {
  const auto released = std::exchange(hung_, {});
  for (const auto& start : released) start();
  return released.size();
}

Async<Result<void>> FaultyFs::meet(std::string_view operation, std::string_view path) {
  const FaultEffect effect = rules_.decide(operation, path);
  if (effect.delay_us > 0) {
    CHECK(timers_ != nullptr, "a fault rule with delay_us= needs timers");
    co_await sleep_us(*timers_, effect.delay_us);
  }
  if (effect.hang) {
    auto waiter = std::make_shared<Waiter>();
    hung_.push_back([waiter] { waiter->resume(); });
    co_await waiter->wait();
  }
  if (effect.error != 0) {
    Error error = os_error(effect.error, fmt::format("{} of '{}'", operation, path));
    error.message += " (injected)";
    co_return std::unexpected(std::move(error));
  }
  co_return Result<void>();
}

Async<Result<std::unique_ptr<File>>> FaultyFs::open(std::string path, OpenOptions options) {
  const bool creates = options.mode == OpenOptions::Mode::create_new;
  const std::string_view operation = creates ? "create" : "open";
  CO_TRY_VOID(co_await meet(operation, path));
  CO_TRY(auto base, co_await base_->open(path, options));
  co_return std::make_unique<FaultyFile>(*this, std::move(base));
}

Async<Result<void>> FaultyFs::remove(std::string path) {
  CO_TRY_VOID(co_await meet("remove", path));
  co_return co_await base_->remove(path);
}

Async<Result<void>> FaultyFs::rename(std::string from, std::string to) {
  CO_TRY_VOID(co_await meet("rename", from));
  co_return co_await base_->rename(from, to);
}

Async<Result<void>> FaultyFs::create_dir(std::string path) {
  CO_TRY_VOID(co_await meet("create_dir", path));
  co_return co_await base_->create_dir(path);
}

Async<Result<void>> FaultyFs::sync_dir(std::string path) {
  CO_TRY_VOID(co_await meet("sync_dir", path));
  co_return co_await base_->sync_dir(path);
}

Async<Result<std::vector<DirEntry>>> FaultyFs::list(std::string path) {
  CO_TRY_VOID(co_await meet("list", path));
  co_return co_await base_->list(path);
}

Async<Result<uint64_t>> FaultyFs::free_bytes() {
  CO_TRY_VOID(co_await meet("free_bytes", ""));
  co_return co_await base_->free_bytes();
}

Async<Result<std::unique_ptr<FileLock>>> FaultyFs::lock(std::string path) {
  CO_TRY_VOID(co_await meet("lock", path));
  co_return co_await base_->lock(path);
}

}  // namespace cellar
