// PosixDir: the blocking file calls below one root directory, for the threads of a BlockingPool.
//
// The root is opened once; every path is walked from it one name at a time without following
// symbolic links, so nothing outside can be reached. Files get mode 0600 and directories 0700
// whatever the umask grants beyond. Stateless but for the root descriptor: any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/disk/file.h"

namespace cellar {

// A descriptor that is closed with it.
class Fd {
 public:
  explicit Fd(int fd = -1) : fd_(fd) {}
  ~Fd();
  Fd(Fd&& o) noexcept : fd_(o.release()) {}
  Fd& operator=(Fd&& o) noexcept;
  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() {
    const int fd = fd_;
    fd_ = -1;
    return fd;
  }

 private:
  int fd_;
};

class PosixDir {
 public:
  static Result<std::unique_ptr<PosixDir>> open_root(const std::string& root);

  struct Opened {
    Fd fd;
    size_t alignment = 1;
  };
  // A direct open that the file system refuses becomes a buffered one with the same alignment.
  Result<Opened> open(const std::string& path, OpenOptions options) const;
  Result<void> remove(const std::string& path) const;
  Result<void> rename(const std::string& from, const std::string& to) const;
  Result<void> create_dir(const std::string& path) const;
  Result<void> sync_dir(const std::string& path) const;
  Result<std::vector<DirEntry>> list(const std::string& path) const;
  Result<uint64_t> free_bytes() const;

  // The lock file with the lock held, or an invalid Fd and the pid that its holder wrote ("unknown"
  // when it wrote none).
  struct Locked {
    Fd fd;
    std::string holder;
  };
  Result<Locked> try_lock(const std::string& path) const;

  static Result<void> allocate(int fd, uint64_t offset, uint64_t size, const std::string& path);
  static Result<void> truncate(int fd, uint64_t size, const std::string& path);
  static Result<uint64_t> size(int fd, const std::string& path);
  static Result<void> close(Fd fd, const std::string& path);

 private:
  explicit PosixDir(Fd root) : root_(std::move(root)) {}
  // The directory `path` itself, O_PATH unless other flags are given.
  Result<Fd> open_dir(std::string_view path) const;
  Result<Fd> open_parent(const std::string& path) const;

  const Fd root_;
};

}  // namespace cellar
