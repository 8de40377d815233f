// What a backup does with blobs: copying them, their checksums, and looking at every entry.
#pragma once

#include <memory>

#include "engine/backup/backup.h"
#include "engine/backup/backup_file.h"
#include "engine/sstable/block_loader.h"
#include "engine/sstable/table_reader.h"
#include "io/loop/throttle.h"

namespace cellar::engine {

// One shard. Bounded by the progress's rate, and ends with CANCELLED when that is called off.
class BackupBlobs {
 public:
  static constexpr size_t kChunkBytes = 256 * 1024;
  static constexpr size_t kTailBytes = 4096;
  static constexpr int kSliceEntries = 512;

  BackupBlobs(Timers& timers, ShardExecutor executor, BackupProgress& progress);
  ~BackupBlobs();

  // The same id in both. What lies there unfinished or sealed is replaced. What was read.
  Async<Result<BackupBlob>> copy(BlobStore& from, BlobStore& to, BlobId id);
  // DATA_LOSS naming the file when it is missing.
  Async<Result<BackupBlob>> measure(BlobStore& store, BlobId id);
  // Its size and checksum are those; DATA_LOSS naming the file.
  Async<Result<void>> compare(BlobStore& store, const BackupBlob& expected);
  // The last bytes, where a table's checksums and its id are, are the same in both.
  Async<Result<bool>> same_tail(BlobStore& a, BlobStore& b, BlobId id);
  // Opens the table and reads every entry.
  Async<Result<void>> read_entries(BlobStore& store, BlobId id);
  // Through a cache of its own, because ids mean something else in a backup.
  Async<Result<std::unique_ptr<TableReader>>> open_table(BlobStore& store, BlobId id);

  Result<void> check_cancelled() const;
  BackupProgress& progress() { return progress_; }
  Async<void> pause(uint64_t bytes) { return throttle_.take(bytes); }

 private:
  BackupProgress& progress_;
  Throttle throttle_;
  BlockCache cache_;
  BlockLoader loader_;
};

}  // namespace cellar::engine
