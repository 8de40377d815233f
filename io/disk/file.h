// The one interface to files. Four bodies: io_uring (uring_fs), a thread pool (pool_fs), in memory
// with crash images (mem_fs), and decorators that inject faults (faulty_fs) or record the order of
// operations (tracing_fs).
//
// Every object belongs to one shard and is used on its loop only. Reads and writes are caller-owned
// operations: the memory of an IoOp and its buffer belong to whoever waits and must stay put until
// `done` runs, which is always later, from the loop, never inside submit(). Metadata operations are
// coroutines.
//
// Durability: a write is durable when it was submitted with dsync and has succeeded, or when a sync
// submitted after its completion has succeeded. A new, renamed or removed name is durable after
// sync_dir of its directory. After a failed write or sync nothing may be assumed about what that
// file holds, and a sync is never retried.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/aligned_buffer.h"
#include "io/base/io_class.h"
#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar {

struct IoOp {
  enum class Kind : uint8_t { read, write, sync };

  Kind kind = Kind::read;
  IoClass io_class = IoClass::read;
  bool dsync = false;      // write: durable when it completes
  uint8_t generation = 0;  // of the body that carries it out: IoAge's
  uint64_t offset = 0;
  std::byte* data =
      nullptr;  // direct files: address, size and offset are multiples of File::alignment()
  size_t size = 0;

  bool injected = false;  // the error in `result` is a test's
  int64_t result = 0;     // bytes moved (may be short), 0 for a sync, or -errno
  void (*done)(IoOp& op) = nullptr;
  void* context = nullptr;  // the waiter's

  // Of the body that carries the operation out.
  IoOp* next = nullptr;
  void* owner = nullptr;
  int fd = -1;
};

class File {
 public:
  virtual ~File() =
      default;  // REQUIRES: no operation in flight; close() was awaited, or the process ends
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  virtual void submit(IoOp& op) = 0;
  // Reserves blocks; the size grows, the bytes read as zeros.
  virtual Async<Result<void>> allocate(uint64_t offset, uint64_t size) = 0;
  virtual Async<Result<void>> truncate(uint64_t size) = 0;
  virtual Async<Result<uint64_t>> size() = 0;
  virtual Async<Result<void>> close() = 0;
  // What address, size and offset of an operation must be a multiple of; 1 for buffered files.
  virtual size_t alignment() const = 0;
  virtual const std::string& path() const = 0;
};

struct OpenOptions {
  enum class Mode : uint8_t {
    read,        // must exist
    read_write,  // must exist
    create_new,  // must not exist; read and write
  };
  Mode mode = Mode::read;
  bool direct = false;  // bypasses the page cache where the file system can; see File::alignment()
};

struct DirEntry {
  std::string name;
  bool is_dir = false;
  uint64_t size = 0;  // of a file, in bytes
};

// Held while the object lives. See FileSystem::lock.
class FileLock {
 public:
  virtual ~FileLock() = default;
};

class FileSystem {
 public:
  virtual ~FileSystem() = default;
  FileSystem() = default;
  FileSystem(const FileSystem&) = delete;
  FileSystem& operator=(const FileSystem&) = delete;

  // Paths are relative to the root that the body was made with, '/'-separated, without "..".
  virtual Async<Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) = 0;
  virtual Async<Result<void>> remove(std::string path) = 0;
  virtual Async<Result<void>> rename(std::string from, std::string to) = 0;  // replaces `to`
  virtual Async<Result<void>> create_dir(std::string path) = 0;              // OK when it exists
  virtual Async<Result<void>> sync_dir(std::string path) = 0;                // "" is the root
  virtual Async<Result<std::vector<DirEntry>>> list(std::string path) = 0;   // sorted by name
  virtual Async<Result<uint64_t>> free_bytes() = 0;

  // An exclusive lock on `path` (created when absent), held by this process and, with io_uring, by
  // every write that is still in flight: a successor is refused until the last of them has landed.
  // Retries for up to kLockRetryMs, then FAILED_PRECONDITION naming the holder's pid.
  static constexpr int kLockRetryMs = 3000;
  virtual Async<Result<std::unique_ptr<FileLock>>> lock(std::string path) = 0;
  // For every other shard's file system of the process that took the lock, before its first write:
  // from now on its writes in flight hold the lock too. `lock` may belong to another shard; it is
  // only read.
  virtual Result<void> hold_lock(const FileLock& lock) {
    static_cast<void>(lock);
    return {};
  }

  // For how long the oldest read, write or sync in flight has been under way, at least; 0: there is
  // none, or the body does not tell. To be asked at regular times: an age is known to the time
  // between two calls. `now_us` never falls.
  virtual int64_t oldest_io_us(int64_t now_us) {
    static_cast<void>(now_us);
    return 0;
  }

  // "io_uring", "threads", "memory".
  virtual std::string_view name() const = 0;
};

// Coroutine adapters. They loop over short transfers; read_at answers the bytes read, fewer only at
// the end of the file. Errors name the file and offset. A buffer of a direct file obeys its
// alignment.
Async<Result<size_t>> read_at(File& file, uint64_t offset, std::span<std::byte> into,
                              IoClass io_class);
Async<Result<void>> write_at(File& file, uint64_t offset, std::span<const std::byte> from,
                             IoClass io_class, bool dsync = false);
Async<Result<void>> sync(File& file, IoClass io_class);

// Whole small files, buffered: for the manifest pointer and the like.
Async<Result<std::string>> read_file(FileSystem& fs, std::string path);
// Writes `path`.tmp, syncs it, renames it to `path` and syncs the directory.
Async<Result<void>> replace_file(FileSystem& fs, std::string path, std::string content);

}  // namespace cellar
