// BackupStore: where backups of one data directory lie: small files that say what each backup is
// made of, and the blobs that they share. The local body is a directory of its own (FORMATS.md,
// "Backups"):
//
//   SOURCE                    whose backups these are
//   backups/<name>.backup     one backup; there when it is complete
//   blob/<blob id>.sst        as in a data directory
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/store/blob_store.h"
#include "io/disk/file.h"

namespace cellar::engine {

// Used on one shard.
class BackupStore {
 public:
  virtual ~BackupStore() = default;
  // From now on it holds backups of `source` (32 hexadecimal digits). FAILED_PRECONDITION when it
  // holds those of another.
  virtual Async<Result<void>> claim(std::string source) = 0;
  virtual Async<Result<std::vector<std::string>>> names() = 0;    // sorted
  virtual Async<Result<std::string>> read(std::string name) = 0;  // NOT_FOUND naming the file
  // All of it or nothing, durable.
  virtual Async<Result<void>> write(std::string name, std::string content) = 0;
  virtual Async<Result<void>> remove(std::string name) = 0;
  virtual BlobStore& blobs() = 0;
};

// "backups/<name>.backup".
std::string backup_path(std::string_view name);
// 1 to 64 letters, digits, '.', '-' and '_', the first one no '.': INVALID_ARGUMENT.
Result<void> check_backup_name(std::string_view name);

// `fs` is rooted at the directory of the backups and outlives it. Nothing is touched here.
std::unique_ptr<BackupStore> make_local_backup_store(FileSystem& fs);

}  // namespace cellar::engine
