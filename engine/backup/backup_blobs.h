// Operations of backups on blobs: copy, checksum, and reading of every entry.
#pragma once

#include <memory>

#include "engine/backup/backup.h"
#include "engine/backup/backup_file.h"
#include "engine/sstable/block_loader.h"
#include "engine/sstable/table_reader.h"
#include "io/loop/rate_budget.h"

namespace cellar::engine {

// One shard. Limited by the progress's rate; CANCELLED if the job is cancelled.
class BackupBlobs {
 public:
  static constexpr size_t kChunkBytes = 256 * 1024;
  static constexpr size_t kTailBytes = 4096;
  static constexpr int kSliceEntries = 512;
  // Time without work gives at most this much credit for later.
  static constexpr int64_t kMostCreditUs = 20'000;

  BackupBlobs(Timers& timers, ShardExecutor executor, BackupProgress& progress);
  ~BackupBlobs();

  // Copies a blob under the same id; replaces an unfinished or sealed one. Returns what was read.
  Async<Result<BackupBlob>> copy(BlobStore& from, BlobStore& to, BlobId id);
  // DATA_LOSS with the file if it is missing.
  Async<Result<BackupBlob>> measure(BlobStore& store, BlobId id);
  // Compares size and checksum; DATA_LOSS with the file if they differ.
  Async<Result<void>> compare(BlobStore& store, const BackupBlob& expected);
  // Whether the last bytes, with a table's checksums and its id, are equal in both. Not if those of
  // `b` are lost.
  Async<Result<bool>> same_tail(BlobStore& a, BlobStore& b, BlobId id);
  // Opens the table and reads every entry.
  Async<Result<void>> read_entries(BlobStore& store, BlobId id);
  // Uses a separate cache, because ids have another meaning in a backup.
  Async<Result<std::unique_ptr<TableReader>>> open_table(BlobStore& store, BlobId id);

  Result<void> check_cancelled() const;
  BackupProgress& progress() { return progress_; }
  // Pauses if these bytes exceed the rate.
  Async<void> pause(uint64_t bytes);

 private:
  BackupProgress& progress_;
  Timers& timers_;
  RateBudget budget_{kMostCreditUs};  // bytes
  BlockCache cache_;
  BlockLoader loader_;
};

}  // namespace cellar::engine
