// Which real body of FileSystem this machine allows. One decision for the whole process.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"
#include "io/disk/blocking_pool.h"
#include "io/disk/file.h"
#include "io/loop/loop.h"

namespace cellar {

enum class IoBackend : uint8_t { automatic, io_uring, threads };

// "auto", "io_uring", "threads".
std::string_view io_backend_name(IoBackend backend);
Result<IoBackend> parse_io_backend(std::string_view name);

struct IoBackendChoice {
  IoBackend chosen = IoBackend::threads;  // never automatic
  std::string reason;                     // a sentence for the log and for readiness
};

// Tries to make a ring. `automatic` falls back to threads where io_uring is forbidden or unknown
// (EPERM, ENOSYS, EINVAL); being short of memory or descriptors is an error, because the fallback
// would hide it. `io_uring` that cannot be had is an error that names the likely cause and the
// cure. `try_ring` answers 0 or -errno; null asks the kernel.
Result<IoBackendChoice> probe_io_backend(IoBackend requested, int (*try_ring)() = nullptr);

// `chosen` as probe_io_backend answered. On the loop's thread; `loop` and `pool` must outlive the
// file system.
Result<std::unique_ptr<FileSystem>> make_file_system(IoBackend chosen, Loop& loop,
                                                     const std::string& root_dir,
                                                     BlockingPool& pool);

// A directory that a client names, and where it may lie.
struct DirectoryRequest {
  std::string path;                 // absolute
  std::vector<std::string> within;  // it is one of these or lies in one
  bool create = false;              // made where it is not there
};
// A file system of threads at that directory. Symbolic links are resolved on both sides before they
// are compared, so a link leads nowhere else. Every call that may block, which on a mount that
// hangs is each of them, is made by `pool`; `loop` and `pool` outlive the file system.
// PERMISSION_DENIED: it does not lie there; NOT_FOUND: it is not there and is not to be made.
Async<Result<std::unique_ptr<FileSystem>>> open_directory(Loop& loop, BlockingPool& pool,
                                                          DirectoryRequest request);

// Makes the directory `root_dir`, for its owner alone, and what is missing above it; OK when it is
// there. Blocks: for the start of a program.
Result<void> make_root_directory(const std::string& root_dir);

}  // namespace cellar
