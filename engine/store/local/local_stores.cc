#include "engine/store/local/local_stores.h"

#include "engine/store/blob/local_blob_store.h"
#include "engine/store/log/local_log_store.h"

namespace cellar::engine {

std::unique_ptr<LogStore> make_local_log_store(FileSystem& fs, Runtime& runtime,
                                               LogOptions options) {
  return std::make_unique<LocalLogStore>(fs, runtime, options);
}

std::unique_ptr<BlobStore> make_local_blob_store(FileSystem& fs, Timers* timers) {
  return std::make_unique<LocalBlobStore>(fs, timers);
}

Async<Result<std::unique_ptr<ManifestStore>>> open_local_manifest_store(FileSystem& fs,
                                                                        ManifestOptions options) {
  CO_TRY(auto store, co_await LocalManifestStore::open(fs, options));
  co_return std::unique_ptr<ManifestStore>(std::move(store));
}

}  // namespace cellar::engine
