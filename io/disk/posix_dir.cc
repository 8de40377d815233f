#include "io/disk/posix_dir.h"

#include <dirent.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "io/base/check.h"
#include "io/disk/path.h"

namespace cellar {
namespace {

constexpr mode_t kFileMode = 0600;
constexpr mode_t kDirMode = 0700;

std::unexpected<Error> refuse(const char* verb, std::string_view path) {
  const int err = errno;
  return std::unexpected(os_error(err, fmt::format("{} of '{}'", verb, path)));
}

template <class Call>
int retry_interrupted(const Call& call) {
  int result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

// The alignment for direct I/O on this file, if the kernel reports it (since Linux 6.1).
size_t direct_alignment(int fd) {
  struct statx facts = {};
  if (::syscall(SYS_statx, fd, "", AT_EMPTY_PATH, STATX_DIOALIGN, &facts) != 0) return kIoAlignment;
  const size_t asks = std::max(facts.stx_dio_mem_align, facts.stx_dio_offset_align);
  return (facts.stx_mask & STATX_DIOALIGN) == 0 || asks == 0 ? kIoAlignment : asks;
}

}  // namespace

Fd::~Fd() {
  if (fd_ >= 0) ::close(fd_);
}

Fd& Fd::operator=(Fd&& o) noexcept {
  std::swap(fd_, o.fd_);
  return *this;
}

Result<std::unique_ptr<PosixDir>> PosixDir::open_root(const std::string& root) {
  Fd fd(::open(root.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid()) return refuse("opening", root);
  return std::unique_ptr<PosixDir>(new PosixDir(std::move(fd)));
}

Result<PosixDir::Dir> PosixDir::open_dir(std::string_view path) const {
  TRY_VOID(check_path(path));
  Dir dir(root_.get());
  for (size_t at = 0; at < path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string name(path.substr(at, end - at));
    Fd next(::openat(dir.get(), name.c_str(), O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
    if (!next.valid()) return refuse("opening the directory", path);
    dir = Dir(std::move(next));
    at = end + 1;
  }
  return dir;
}

Result<PosixDir::Dir> PosixDir::open_parent(const std::string& path) const {
  TRY_VOID(check_path(path));
  if (path.empty()) return fail(Errc::invalid_argument, "the root directory cannot be changed");
  return open_dir(path_parent(path));
}

Result<PosixDir::Opened> PosixDir::open(const std::string& path, OpenOptions options) const {
  TRY(const Dir parent, open_parent(path));
  const std::string name(path_leaf(path));
  int flags = O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK;  // O_NONBLOCK: open of a FIFO must not block
  flags |= options.mode == OpenOptions::Mode::read ? O_RDONLY : O_RDWR;
  if (options.mode == OpenOptions::Mode::create_new) flags |= O_CREAT | O_EXCL;
  const auto attempt = [&](int more) {
    return Fd(retry_interrupted(
        [&] { return ::openat(parent.get(), name.c_str(), flags | more, kFileMode); }));
  };
  bool direct = options.direct;
  Fd fd = attempt(direct ? O_DIRECT : 0);
  if (!fd.valid() && direct && errno == EINVAL) {
    // The file system has no O_DIRECT. The file may have been created before the refusal.
    direct = false;
    flags &= ~O_EXCL;
    fd = attempt(0);
  }
  if (!fd.valid()) return refuse("opening", path);
  struct stat facts = {};
  if (::fstat(fd.get(), &facts) != 0) return refuse("opening", path);
  if (!S_ISREG(facts.st_mode)) {
    errno = S_ISDIR(facts.st_mode) ? EISDIR : EINVAL;
    return refuse("opening", path);
  }
  // On a non-blocking descriptor io_uring returns EAGAIN where it would otherwise use a worker.
  if (::fcntl(fd.get(), F_SETFL, direct ? O_DIRECT : 0) != 0) {
    return refuse("opening", path);
  }
  const size_t alignment = options.direct ? direct_alignment(fd.get()) : 1;
  return Opened{std::move(fd), alignment, static_cast<uint64_t>(facts.st_size)};
}

Result<void> PosixDir::remove(const std::string& path) const {
  TRY(const Dir parent, open_parent(path));
  const std::string name(path_leaf(path));
  if (::unlinkat(parent.get(), name.c_str(), 0) == 0) return {};
  if (errno == EISDIR && ::unlinkat(parent.get(), name.c_str(), AT_REMOVEDIR) == 0) return {};
  return refuse("removal", path);
}

Result<void> PosixDir::rename(const std::string& from, const std::string& to) const {
  TRY(const Dir parent, open_parent(from));
  const std::string name(path_leaf(from));
  const std::string to_name(path_leaf(to));
  const auto move_to = [&](const Dir& to_parent) -> Result<void> {
    if (::renameat(parent.get(), name.c_str(), to_parent.get(), to_name.c_str()) == 0) return {};
    return refuse("renaming", fmt::format("{}' to '{}", from, to));
  };
  if (!to_name.empty() && path_parent(to) == path_parent(from)) {
    TRY_VOID(check_path(to));
    return move_to(parent);
  }
  TRY(const Dir to_parent, open_parent(to));
  return move_to(to_parent);
}

Result<void> PosixDir::create_dir(const std::string& path) const {
  if (path.empty()) return {};
  TRY(const Dir parent, open_parent(path));
  const std::string name(path_leaf(path));
  if (::mkdirat(parent.get(), name.c_str(), kDirMode) == 0) return {};
  if (errno != EEXIST) return refuse("creation", path);
  struct stat facts = {};
  if (::fstatat(parent.get(), name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0 ||
      !S_ISDIR(facts.st_mode)) {
    errno = EEXIST;
    return refuse("creation", path);
  }
  return {};
}

Result<void> PosixDir::sync_dir(const std::string& path) const {
  TRY(const Dir dir, open_dir(path));
  const Fd readable(::openat(dir.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable.valid() || ::fsync(readable.get()) != 0) return refuse("sync of directory", path);
  return {};
}

Result<std::vector<DirEntry>> PosixDir::list(const std::string& path) const {
  TRY(const Dir dir, open_dir(path));
  Fd readable(::openat(dir.get(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!readable.valid()) return refuse("listing", path);
  const std::unique_ptr<DIR, int (*)(DIR*)> stream(::fdopendir(readable.get()), &::closedir);
  if (stream == nullptr) return refuse("listing", path);
  const int readable_fd = readable.release();  // the stream closes it
  std::vector<DirEntry> entries;
  while (true) {
    errno = 0;
    const dirent* entry = ::readdir(stream.get());
    if (entry == nullptr) break;
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat facts = {};
    if (::fstatat(readable_fd, name.c_str(), &facts, AT_SYMLINK_NOFOLLOW) != 0) {
      if (errno == ENOENT) continue;  // removed concurrently
      return refuse("listing", path);
    }
    entries.push_back({name, S_ISDIR(facts.st_mode), static_cast<uint64_t>(facts.st_size)});
  }
  if (errno != 0) return refuse("listing", path);
  std::sort(entries.begin(), entries.end(),
            [](const DirEntry& a, const DirEntry& b) { return a.name < b.name; });
  return entries;
}

Result<uint64_t> PosixDir::free_bytes() const {
  struct statvfs facts = {};
  if (retry_interrupted([&] { return ::fstatvfs(root_.get(), &facts); }) != 0) {
    return refuse("asking for the free space", "");
  }
  return uint64_t{facts.f_bavail} * facts.f_frsize;
}

Result<PosixDir::Locked> PosixDir::try_lock(const std::string& path) const {
  TRY(const Dir parent, open_parent(path));
  const std::string name(path_leaf(path));
  Fd fd(::openat(parent.get(), name.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, kFileMode));
  if (!fd.valid()) return refuse("opening the lock", path);
  char text[32] = {};
  if (retry_interrupted([&] { return ::flock(fd.get(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno != EWOULDBLOCK) return refuse("locking", path);
    const ssize_t n = ::pread(fd.get(), text, sizeof text - 1, 0);
    std::string holder(text, n > 0 ? static_cast<size_t>(n) : 0);
    while (!holder.empty() && holder.back() == '\n') holder.pop_back();
    return Locked{Fd(), holder.empty() ? "unknown" : holder};
  }
  // Overwrites and then truncates, so that no new block is needed. The lock also holds without the
  // pid, so a full disk does not refuse it.
  const std::string pid = fmt::format("{}\n", ::getpid());
  const auto bytes = static_cast<ssize_t>(pid.size());
  if (::pwrite(fd.get(), pid.data(), pid.size(), 0) != bytes || ::ftruncate(fd.get(), bytes) != 0) {
    if (errno != ENOSPC && errno != EDQUOT) return refuse("writing the pid into the lock", path);
  }
  return Locked{std::move(fd), {}};
}

Result<void> PosixDir::allocate(int fd, uint64_t offset, uint64_t size, const std::string& path) {
  const auto at = static_cast<off_t>(offset);
  const auto length = static_cast<off_t>(size);
  if (retry_interrupted([&] { return ::fallocate(fd, 0, at, length); }) == 0) return {};
  if (errno != EOPNOTSUPP) return refuse("allocation", path);
  // The file system cannot reserve blocks; only the size is set.
  TRY(const uint64_t had, PosixDir::size(fd, path));
  if (had >= offset + size) return {};
  return truncate(fd, offset + size, path);
}

Result<void> PosixDir::truncate(int fd, uint64_t size, const std::string& path) {
  if (retry_interrupted([&] { return ::ftruncate(fd, static_cast<off_t>(size)); }) != 0) {
    return refuse("truncation", path);
  }
  return {};
}

Result<uint64_t> PosixDir::size(int fd, const std::string& path) {
  struct stat facts = {};
  if (::fstat(fd, &facts) != 0) return refuse("asking for the size", path);
  return static_cast<uint64_t>(facts.st_size);
}

Result<void> PosixDir::close(Fd fd, const std::string& path) {
  // The descriptor is closed whatever close() returns; EINTR is not an error on Linux.
  if (::close(fd.release()) != 0 && errno != EINTR) return refuse("closing", path);
  return {};
}

}  // namespace cellar
