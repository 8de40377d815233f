// PosixDir: blocking file calls below one root directory, for the threads of a BlockingPool.
//
// The root is opened once. Every path is resolved from it one name at a time without following
// symbolic links, so nothing outside is reachable. Files are created with mode 0600 and directories
// with 0700, further restricted by the umask. Stateless except for the root descriptor; callable
// from any thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/disk/file.h"

namespace cellar {

// Owns a descriptor.
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
    uint64_t bytes = 0;  // size of the file
  };
  // If the file system refuses a direct open, the file is opened buffered with the same alignment.
  Result<Opened> open(const std::string& path, OpenOptions options) const;
  Result<void> remove(const std::string& path) const;
  Result<void> rename(const std::string& from, const std::string& to) const;
  Result<void> create_dir(const std::string& path) const;
  Result<void> sync_dir(const std::string& path) const;
  Result<std::vector<DirEntry>> list(const std::string& path) const;
  Result<uint64_t> free_bytes() const;

  // The locked lock file; or an invalid Fd and the holder's pid ("unknown" if none was written).
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
  // A directory: the root, or one that was opened for a call.
  class Dir {
   public:
    explicit Dir(int root) : fd_(root) {}
    explicit Dir(Fd opened) : opened_(std::move(opened)), fd_(opened_.get()) {}
    int get() const { return fd_; }

   private:
    Fd opened_;
    int fd_;
  };

  explicit PosixDir(Fd root) : root_(std::move(root)) {}
  Result<Dir> open_dir(std::string_view path) const;  // O_PATH
  Result<Dir> open_parent(const std::string& path) const;

  const Fd root_;
};

}  // namespace cellar
