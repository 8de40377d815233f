#include "io/disk/backend.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "io/base/check.h"
#include "io/disk/pool_fs.h"
#include "io/disk/uring_fs.h"

namespace cellar {
namespace {

// The value of kernel.io_uring_disabled: 0 allowed, 1 for one group only, 2 forbidden; -1 if the
// kernel (before 6.6) has no such switch.
int io_uring_disabled() {
  const Fd fd(::open("/proc/sys/kernel/io_uring_disabled", O_RDONLY | O_CLOEXEC));
  char digit = 0;
  if (!fd.valid() || ::read(fd.get(), &digit, 1) != 1 || digit < '0' || digit > '9') return -1;
  return digit - '0';
}

std::string cause_of(int err) {
  const int disabled = io_uring_disabled();
  switch (err) {
    case EPERM:
      if (disabled > 0) {
        return fmt::format(
            "the sysctl kernel.io_uring_disabled is {}; set it to 0, or use io.backend = threads",
            disabled);
      }
      return "most likely the seccomp profile of a container forbids it; allow io_uring_setup, "
             "io_uring_enter and io_uring_register in the profile, or use io.backend = threads";
    case ENOSYS:
      return "this kernel has no io_uring that can read, write and sync (Linux 5.6 has), or a "
             "sandbox hides it; use a newer kernel, or io.backend = threads";
    case EINVAL:
      return "this kernel refuses the set-up of the ring; use a newer kernel, or io.backend = "
             "threads";
    case ENOMEM: {
      rlimit limit = {};
      ::getrlimit(RLIMIT_MEMLOCK, &limit);
      return fmt::format(
          "the limit of locked memory ({} bytes) is too low; raise RLIMIT_MEMLOCK (LimitMEMLOCK= "
          "in a systemd unit)",
          limit.rlim_cur);
    }
    case EMFILE:
    case ENFILE:
      return "there are no file descriptors left; raise RLIMIT_NOFILE (LimitNOFILE= in a systemd "
             "unit)";
    default:
      return "the cause is not known";
  }
}

}  // namespace

std::string_view io_backend_name(IoBackend backend) {
  switch (backend) {
    case IoBackend::automatic:
      return "auto";
    case IoBackend::io_uring:
      return "io_uring";
    case IoBackend::threads:
      return "threads";
  }
  UNREACHABLE();
}

Result<IoBackend> parse_io_backend(std::string_view name) {
  for (const IoBackend known : {IoBackend::automatic, IoBackend::io_uring, IoBackend::threads}) {
    if (name == io_backend_name(known)) return known;
  }
  return fail(Errc::invalid_argument, "io backend '{}' is none of 'auto', 'io_uring' and 'threads'",
              name);
}

Result<IoBackendChoice> probe_io_backend(IoBackend requested, int (*try_ring)()) {
  if (requested == IoBackend::threads) {
    return IoBackendChoice{IoBackend::threads, "threads were asked for"};
  }
  const int err = -(try_ring == nullptr ? probe_ring() : try_ring());
  if (err == 0) return IoBackendChoice{IoBackend::io_uring, "io_uring is available"};
  const std::string why =
      fmt::format("io_uring is not available ({}): {}", ::strerror(err), cause_of(err));
  const bool forbidden = err == EPERM || err == ENOSYS || err == EINVAL;
  if (requested == IoBackend::automatic && forbidden) {
    return IoBackendChoice{IoBackend::threads, why};
  }
  Error error(forbidden ? Errc::failed_precondition : Errc::resource_exhausted, why);
  error.os_error = err;
  return std::unexpected(std::move(error));
}

Result<std::unique_ptr<FileSystem>> make_file_system(IoBackend chosen, Loop& loop,
                                                     const std::string& root_dir,
                                                     BlockingPool& pool) {
  CHECK(chosen != IoBackend::automatic, "probe_io_backend decides before");
  if (chosen == IoBackend::threads) return PoolFs::create(loop, root_dir, pool);
  TRY(std::unique_ptr<FileSystem> fs, UringFs::create(loop, root_dir, pool));
  return fs;
}

namespace {

namespace fs = std::filesystem;

// Resolves the symbolic links of the existing part of the path.
Result<std::string> resolved(const std::string& path) {
  std::error_code error;
  std::string real = fs::weakly_canonical(path, error).string();
  if (error) {
    return std::unexpected(os_error(error.value(), fmt::format("resolving the path {}", path)));
  }
  while (real.size() > 1 && real.ends_with('/')) real.pop_back();
  return real;
}

// Without it a power cut could take a new directory with everything in it.
Result<void> sync_parent(const std::string& path) {
  const std::string parent = fs::path(path).parent_path().string();
  const Fd fd(::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) {
    return std::unexpected(os_error(errno, fmt::format("syncing the directory of {}", path)));
  }
  return {};
}

bool lies_in(std::string_view path, std::string_view directory) {
  if (directory == "/") return true;
  return path.starts_with(directory) &&
         (path.size() == directory.size() || path[directory.size()] == '/');
}

Result<void> check_within(const std::string& real, const DirectoryRequest& request) {
  for (const std::string& one : request.within) {
    TRY(const std::string allowed, resolved(one));
    if (lies_in(real, allowed)) return {};
  }
  return fail(Errc::permission_denied, "'{}' leads by a symbolic link out of where it may lie",
              request.path);
}

// Runs on a thread of the pool.
Result<std::unique_ptr<PosixDir>> open_within(const DirectoryRequest& request) {
  TRY(const std::string real, resolved(request.path));
  TRY_VOID(check_within(real, request));
  std::error_code ignored;
  if (request.create) {
    TRY_VOID(make_root_directory(real));
    // A component created concurrently may be a link.
    TRY(const std::string made, resolved(real));
    TRY_VOID(check_within(made, request));
  } else if (!fs::is_directory(real, ignored)) {
    return fail(Errc::not_found, "there is no directory '{}' on the node", request.path);
  }
  return PosixDir::open_root(real);
}

}  // namespace

Async<Result<std::unique_ptr<FileSystem>>> open_directory(Loop& loop, BlockingPool& pool,
                                                          DirectoryRequest request) {
  CO_TRY(std::unique_ptr<PosixDir> root,
         co_await pool.run([&request] { return open_within(request); }));
  co_return PoolFs::create(loop, std::move(root), pool);
}

Result<void> make_root_directory(const std::string& root_dir) {
  for (size_t end = root_dir.find('/', 1);; end = root_dir.find('/', end + 1)) {
    const std::string path = root_dir.substr(0, end);
    if (::mkdir(path.c_str(), S_IRWXU) == 0) {
      TRY_VOID(sync_parent(path));
    } else if (errno != EEXIST && errno != EISDIR) {
      return std::unexpected(os_error(errno, fmt::format("making directory {}", path)));
    }
    if (end == std::string::npos) return {};
  }
}

}  // namespace cellar
