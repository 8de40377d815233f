// BackupStore: the backups of one data directory: small files that list the parts of each backup,
// and the blobs that they share. The local implementation is a separate directory (FORMATS.md,
// "Backups"):
//
//   SOURCE                    the data directory that was backed up
//   backups/<name>.backup     one backup; written when it is complete
//   blob/<blob id>.sst        as in a data directory
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/store/blob_store.h"
#include "io/disk/file.h"

namespace cellar::engine {

// Used on one shard. Calls that take a name return INVALID_ARGUMENT for what is none
// (check_backup_name()).
class BackupStore {
 public:
  virtual ~BackupStore() = default;
  // Assigns the store to `source` (32 hexadecimal digits), durably. FAILED_PRECONDITION if it is
  // assigned to another one.
  virtual Async<Result<void>> claim(std::string source) = 0;
  virtual Async<Result<std::vector<std::string>>> names() = 0;    // sorted
  virtual Async<Result<std::string>> read(std::string name) = 0;  // NOT_FOUND naming the backup
  // Atomic and durable; replaces. REQUIRES: the store is claimed.
  virtual Async<Result<void>> write(std::string name, std::string content) = 0;
  virtual Async<Result<void>> remove(std::string name) = 0;  // durable; OK if absent
  // Removes what interrupted writes and removals of backups have left, where they leave something.
  // Not of blobs. REQUIRES: no write() is under way, also of another process.
  virtual Async<Result<void>> remove_remains() { co_return Result<void>(); }
  virtual BlobStore& blobs() = 0;
};

// "backups/<name>.backup".
std::string backup_path(std::string_view name);
// A name is 1 to 64 letters, digits, '.', '-' and '_' and does not start with '.'; otherwise
// INVALID_ARGUMENT.
Result<void> check_backup_name(std::string_view name);

// `fs` is rooted at the backup directory and must outlive the store. No I/O happens here.
std::unique_ptr<BackupStore> make_local_backup_store(FileSystem& fs);

}  // namespace cellar::engine
