#include "io/disk/posix_fs.h"

#include <optional>

#include "io/base/check.h"

namespace cellar {
namespace {

class PosixFile final : public File {
 public:
  PosixFile(IoEngine& engine, BlockingPool& pool, PosixDir::Opened opened, OpenOptions options,
            std::string path)
      : engine_(engine),
        pool_(pool),
        fd_(std::move(opened.fd)),
        alignment_(opened.alignment),
        fixed_bytes_(options.mode == OpenOptions::Mode::read ? std::optional(opened.bytes)
                                                             : std::nullopt),
        path_(std::move(path)) {}

  void submit(IoOp& op) override {
    CHECK(fd_.valid(), "'{}' is used after close", path_);
    op.fd = fd_.get();
    engine_.submit(op);
  }

  Async<Result<void>> allocate(uint64_t offset, uint64_t size) override {
    auto call = [this, offset, size] { return PosixDir::allocate(open_fd(), offset, size, path_); };
    return pool_.run(call);
  }
  Async<Result<void>> truncate(uint64_t size) override {
    auto call = [this, size] { return PosixDir::truncate(open_fd(), size, path_); };
    return pool_.run(call);
  }
  Async<Result<uint64_t>> size() override {
    if (fixed_bytes_) co_return *fixed_bytes_;
    auto call = [this] { return PosixDir::size(open_fd(), path_); };
    co_return co_await pool_.run(call);
  }
  Async<Result<void>> close() override {
    auto call = [this] {
      open_fd();
      return PosixDir::close(std::move(fd_), path_);
    };
    return pool_.run(call);
  }
  size_t alignment() const override { return alignment_; }
  const std::string& path() const override { return path_; }

 private:
  int open_fd() const {
    CHECK(fd_.valid(), "'{}' is used after close", path_);
    return fd_.get();
  }

  IoEngine& engine_;
  BlockingPool& pool_;
  Fd fd_;
  const size_t alignment_;
  const std::optional<uint64_t> fixed_bytes_;  // the size at the opening, if it was for reading
  const std::string path_;
};

}  // namespace

Async<Result<std::unique_ptr<File>>> PosixFs::open(std::string path, OpenOptions options) {
  auto call = [this, &path, options] { return root_->open(path, options); };
  CO_TRY(auto opened, co_await pool_.run(call));
  co_return std::make_unique<PosixFile>(engine(), pool_, std::move(opened), options,
                                        std::move(path));
}

Async<Result<void>> PosixFs::remove(std::string path) {
  auto call = [this, &path] { return root_->remove(path); };
  co_return co_await pool_.run(call);
}

Async<Result<void>> PosixFs::rename(std::string from, std::string to) {
  auto call = [this, &from, &to] { return root_->rename(from, to); };
  co_return co_await pool_.run(call);
}

Async<Result<void>> PosixFs::create_dir(std::string path) {
  auto call = [this, &path] { return root_->create_dir(path); };
  co_return co_await pool_.run(call);
}

Async<Result<void>> PosixFs::sync_dir(std::string path) {
  auto call = [this, &path] { return root_->sync_dir(path); };
  co_return co_await pool_.run(call);
}

Async<Result<std::vector<DirEntry>>> PosixFs::list(std::string path) {
  auto call = [this, &path] { return root_->list(path); };
  co_return co_await pool_.run(call);
}

Async<Result<uint64_t>> PosixFs::free_bytes() {
  auto call = [this] { return root_->free_bytes(); };
  co_return co_await pool_.run(call);
}

Async<Result<std::unique_ptr<FileLock>>> PosixFs::lock(std::string path) {
  constexpr int kRetryEveryMs = 50;
  auto call = [this, &path] { return root_->try_lock(path); };
  for (int waited_ms = 0;; waited_ms += kRetryEveryMs) {
    CO_TRY(PosixDir::Locked locked, co_await pool_.run(call));
    if (locked.fd.valid()) co_return std::make_unique<PosixLock>(std::move(locked.fd));
    if (waited_ms >= kLockRetryMs) {
      co_return fail(Errc::failed_precondition,
                     "'{}' is locked by process {}, or by its writes that are still landing, for "
                     "more than {} ms",
                     path, locked.holder, kLockRetryMs);
    }
    co_await sleep_us(loop_.timers(), int64_t{kRetryEveryMs} * 1000);
  }
}

}  // namespace cellar
