#include "io/disk/uring_fs.h"

#include "io/base/check.h"

namespace cellar {
namespace {

class UringLock final : public PosixLock {
 public:
  UringLock(Fd fd, std::weak_ptr<Ring> ring, int slot)
      : PosixLock(std::move(fd)), ring_(std::move(ring)), slot_(slot) {}
  ~UringLock() override {
    if (const auto ring = ring_.lock()) ring->release_file(slot_);
  }

 private:
  const std::weak_ptr<Ring> ring_;
  const int slot_;
};

}  // namespace

Result<std::unique_ptr<UringFs>> UringFs::create(Loop& loop, const std::string& root,
                                                 BlockingPool& pool) {
  TRY(auto dir, PosixDir::open_root(root));
  TRY(auto ring, Ring::of(loop));
  return std::unique_ptr<UringFs>(new UringFs(loop, pool, std::move(dir), std::move(ring)));
}

UringFs::~UringFs() {
  if (held_lock_) ring_.ring()->release_file(*held_lock_);
}

Async<Result<std::unique_ptr<FileLock>>> UringFs::lock(std::string path) {
  CO_TRY(auto plain, co_await PosixFs::lock(std::move(path)));
  auto& posix = static_cast<PosixLock&>(*plain);
  CO_TRY(const int slot, ring_.ring()->hold_file(posix.fd()));
  co_return std::make_unique<UringLock>(posix.take(), ring_.ring(), slot);
}

Result<void> UringFs::hold_lock(const FileLock& lock) {
  const auto* posix = dynamic_cast<const PosixLock*>(&lock);
  CHECK(posix != nullptr, "a lock of another kind of file system");
  TRY(held_lock_, ring_.ring()->hold_file(posix->fd()));
  return {};
}

}  // namespace cellar
