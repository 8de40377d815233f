#include "io/disk/uring_fs.h"

#include "io/base/check.h"

namespace cellar {
namespace {

class UringLock final : public PosixLock {
 public:
  UringLock(Fd fd, std::weak_ptr<Uring> ring, int slot)
      : PosixLock(std::move(fd)), ring_(std::move(ring)), slot_(slot) {}
  ~UringLock() override {
    if (const auto ring = ring_.lock()) ring->release_file(slot_);
  }

 private:
  const std::weak_ptr<Uring> ring_;
  const int slot_;
};

}  // namespace

Result<std::unique_ptr<UringFs>> UringFs::create(Loop& loop, const std::string& root,
                                                 BlockingPool& pool) {
  TRY(auto dir, PosixDir::open_root(root));
  TRY(auto ring, Uring::create(loop));
  return std::unique_ptr<UringFs>(new UringFs(loop, pool, std::move(dir), std::move(ring)));
}

UringFs::~UringFs() = default;

Async<Result<std::unique_ptr<FileLock>>> UringFs::lock(std::string path) {
  CO_TRY(auto plain, co_await PosixFs::lock(std::move(path)));
  auto& posix = static_cast<PosixLock&>(*plain);
  CO_TRY(const int slot, ring_->hold_file(posix.fd()));
  co_return std::make_unique<UringLock>(posix.take(), ring_, slot);
}

Result<void> UringFs::hold_lock(const FileLock& lock) {
  const auto* posix = dynamic_cast<const PosixLock*>(&lock);
  CHECK(posix != nullptr, "a lock of another kind of file system");
  TRY_VOID(ring_->hold_file(posix->fd()));
  return {};
}

}  // namespace cellar
