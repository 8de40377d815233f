// The interface to files. Implementations: io_uring (uring_fs), a thread pool (pool_fs), in memory
// with crash images (mem_fs), and decorators that inject faults (faulty_fs) or record operations
// (tracing_fs).
//
// Every object belongs to one shard and is used on its loop only. Reads and writes are caller-owned
// operations: an IoOp and its buffer must stay in place until `done` runs, which is always later
// from the loop, never inside submit(). Metadata operations are coroutines.
//
// Durability: a write is durable if it was submitted with dsync and succeeded, or if a sync
// submitted after its completion succeeded. A new, renamed or removed name is durable after
// sync_dir of its directory. After a failed write or sync the contents of the file are undefined,
// and a sync is never retried.
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
  bool dsync = false;      // write: durable on completion
  uint8_t generation = 0;  // IoAge generation, set by the implementation
  uint64_t offset = 0;
  std::byte* data =
      nullptr;  // direct files: address, size and offset are multiples of File::alignment()
  size_t size = 0;

  bool injected = false;  // the error in `result` was injected by a test
  int64_t result = 0;     // bytes moved (may be short), 0 for a sync, or -errno
  void (*done)(IoOp& op) = nullptr;
  void* context = nullptr;  // for the waiter

  // For the implementation.
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
  // Reserves blocks; the size grows and the new bytes read as zeros.
  virtual Async<Result<void>> allocate(uint64_t offset, uint64_t size) = 0;
  virtual Async<Result<void>> truncate(uint64_t size) = 0;
  virtual Async<Result<uint64_t>> size() = 0;  // open for reading: may be that of the opening
  virtual Async<Result<void>> close() = 0;
  // Alignment of address, size and offset of operations; 1 for buffered files.
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
  bool direct = false;  // bypasses the page cache if the file system can; see File::alignment()
};

struct DirEntry {
  std::string name;
  bool is_dir = false;
  uint64_t size = 0;  // of a file, in bytes
};

// Holds the lock for its lifetime. See FileSystem::lock.
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

  // Paths are relative to the root of the implementation, '/'-separated, without "..".
  virtual Async<Result<std::unique_ptr<File>>> open(std::string path, OpenOptions options) = 0;
  virtual Async<Result<void>> remove(std::string path) = 0;
  virtual Async<Result<void>> rename(std::string from, std::string to) = 0;  // replaces `to`
  virtual Async<Result<void>> create_dir(std::string path) = 0;              // OK if it exists
  virtual Async<Result<void>> sync_dir(std::string path) = 0;                // "" is the root
  virtual Async<Result<std::vector<DirEntry>>> list(std::string path) = 0;   // sorted by name
  virtual Async<Result<uint64_t>> free_bytes() = 0;

  // Takes an exclusive lock on `path` (created if absent). The process holds it and, with io_uring,
  // every write in flight: a successor is refused until the last write has landed. Retries for up
  // to kLockRetryMs, then FAILED_PRECONDITION with the holder's pid.
  static constexpr int kLockRetryMs = 3000;
  virtual Async<Result<std::unique_ptr<FileLock>>> lock(std::string path) = 0;
  // Called on every other shard's file system of the locking process before its first write: from
  // then on its writes in flight hold the lock too. `lock` may belong to another shard and is only
  // read.
  virtual Result<void> hold_lock(const FileLock& lock) {
    static_cast<void>(lock);
    return {};
  }

  // A lower bound of the age of the oldest read, write or sync in flight; 0 if there is none or the
  // implementation does not track it. Call it at regular intervals, which are its precision.
  // `now_us` never decreases.
  virtual int64_t oldest_io_us(int64_t now_us) {
    static_cast<void>(now_us);
    return 0;
  }

  // "io_uring", "threads", "memory".
  virtual std::string_view name() const = 0;
};

// Coroutine adapters. They loop over short transfers; read_at returns the bytes read, fewer only at
// the end of the file. Errors name the file and offset. Buffers of a direct file obey its
// alignment.
Async<Result<size_t>> read_at(File& file, uint64_t offset, std::span<std::byte> into,
                              IoClass io_class);
Async<Result<void>> write_at(File& file, uint64_t offset, std::span<const std::byte> from,
                             IoClass io_class, bool dsync = false);
Async<Result<void>> sync(File& file, IoClass io_class);

// For small files such as the manifest pointer; buffered, whole contents.
Async<Result<std::string>> read_file(FileSystem& fs, std::string path);
// Writes `path`.tmp, syncs it, renames it to `path` and syncs the directory.
Async<Result<void>> replace_file(FileSystem& fs, std::string path, std::string content);

}  // namespace cellar
