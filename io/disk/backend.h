// Selects the production implementation of FileSystem. One decision per process.
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

// "auto", "io_uring" or "threads".
std::string_view io_backend_name(IoBackend backend);
Result<IoBackend> parse_io_backend(std::string_view name);

struct IoBackendChoice {
  IoBackend chosen = IoBackend::threads;  // never automatic
  std::string reason;                     // a sentence for the log and the readiness report
};

// Tries to make a ring. `automatic` falls back to threads if io_uring is forbidden or unknown
// (EPERM, ENOSYS, EINVAL); lack of memory or descriptors is an error, because a fallback would hide
// it. If `io_uring` is requested and unavailable, the error names the likely cause and a remedy.
// `try_ring` returns 0 or -errno; null asks the kernel.
Result<IoBackendChoice> probe_io_backend(IoBackend requested, int (*try_ring)() = nullptr);

// `chosen` comes from probe_io_backend. Call on the loop's thread. `loop` and `pool` must outlive
// the file system.
Result<std::unique_ptr<FileSystem>> make_file_system(IoBackend chosen, Loop& loop,
                                                     const std::string& root_dir,
                                                     BlockingPool& pool);

// A directory named by a client, and the directories it must lie in.
struct DirectoryRequest {
  std::string path;                 // absolute
  std::vector<std::string> within;  // `path` equals one of these or lies in one
  bool create = false;              // create it if absent
};
// Opens a thread-pool file system at that directory. Symbolic links are resolved on both sides
// before comparison, so a link cannot lead outside. `pool` makes every call that may block; on a
// hung mount that is each of them. `loop` and `pool` must outlive the file system. Errors:
// PERMISSION_DENIED (outside `within`), NOT_FOUND (absent and not to be created).
Async<Result<std::unique_ptr<FileSystem>>> open_directory(Loop& loop, BlockingPool& pool,
                                                          DirectoryRequest request);

// Creates the directory `root_dir` and its missing parents, durably, with access for the owner
// only; OK if it exists. Blocks: for program start.
Result<void> make_root_directory(const std::string& root_dir);

}  // namespace cellar
