// StoreFactory: makes the bodies of the storage interfaces that one shard uses. Who makes the
// factories of a node chooses where its data are: on the machine's own disk
// (local/local_stores.h), or elsewhere. All code above takes the stores as they come.
#pragma once

#include <memory>

#include "engine/store/blob_store.h"
#include "engine/store/log_store.h"
#include "engine/store/manifest_store.h"

namespace cellar::engine {

// Of one shard, on it. Must outlive the stores.
class StoreFactory {
 public:
  virtual ~StoreFactory() = default;
  // No I/O happens here.
  virtual std::unique_ptr<LogStore> make_logs() = 0;
  virtual std::unique_ptr<BlobStore> make_blobs() = 0;
  // The manifest of the node, on shard 0: loads it, or creates an empty one. DATA_LOSS naming what
  // is damaged; FAILED_PRECONDITION for another format; in both cases nothing was changed.
  virtual Async<Result<std::unique_ptr<ManifestStore>>> open_manifest() = 0;
  // The same, and never writes: every edit is refused with `why`, not applied. NOT_FOUND if there
  // is no manifest.
  virtual Async<Result<std::unique_ptr<ManifestStore>>> open_manifest_read_only(Error why) = 0;
};

}  // namespace cellar::engine
