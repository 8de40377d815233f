// LocalBlobStore: blobs as files in `blob/` of a FileSystem: `<id, 16 hexadecimal digits>.sst`,
// with ".tmp" appended until the blob is sealed. Direct I/O for reads and writes; no cache.
#pragma once

#include <memory>

#include "engine/store/blob/blob_files.h"
#include "engine/store/blob/directory_sync.h"
#include "engine/store/blob/write_rate.h"
#include "engine/store/blob_store.h"
#include "engine/store/file/file_removal.h"
#include "io/disk/file.h"

namespace cellar::engine {

// One per shard; stores of other shards may use the same directory. `fs` must outlive it, and both
// must outlive everything it made.
class LocalBlobStore final : public BlobStore {
 public:
  // Without timers, and before the first blob is created or opened, large blobs are removed without
  // pauses (file_removal.h).
  explicit LocalBlobStore(FileSystem& fs, Timers* timers = nullptr)
      : fs_(fs),
        removal_(new FileRemoval(fs, timers)),
        rate_(new WriteRate(timers)),
        names_(fs, std::string(kBlobDirectory)) {}

  Async<Result<std::unique_ptr<BlobWriter>>> create(BlobId id, uint64_t expected_bytes,
                                                    IoClass io_class) override;
  Async<Result<std::unique_ptr<Blob>>> open(BlobId id) override;
  // Leftovers of interrupted writers have sealed = false; remove() removes them.
  Async<Result<std::vector<BlobInfo>>> list() override;
  Async<Result<void>> remove(BlobId id) override;
  double write_rate() const override { return rate_->bytes_per_us(); }

 private:
  FileSystem& fs_;
  const FileRemovalRef removal_;
  const WriteRateRef rate_;
  DirectorySync names_;
  bool directory_made_ = false;
};

}  // namespace cellar::engine
