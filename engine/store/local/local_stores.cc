#include "engine/store/local/local_stores.h"

#include <utility>

#include "engine/store/blob/local_blob_store.h"
#include "engine/store/log/local_log_store.h"

namespace cellar::engine {
namespace {

class LocalStores final : public StoreFactory {
 public:
  LocalStores(FileSystem& fs, Runtime& runtime, LogOptions log)
      : fs_(fs), runtime_(runtime), log_(log) {}

  std::unique_ptr<LogStore> make_logs() override {
    return make_local_log_store(fs_, runtime_, log_);
  }
  std::unique_ptr<BlobStore> make_blobs() override {
    return make_local_blob_store(fs_, &runtime_.timers);
  }
  Async<Result<std::unique_ptr<ManifestStore>>> open_manifest() override {
    return open_local_manifest_store(fs_, ManifestOptions());
  }
  Async<Result<std::unique_ptr<ManifestStore>>> open_manifest_read_only(Error why) override {
    CO_TRY(auto store, co_await LocalManifestStore::open_read_only(fs_, std::move(why)));
    co_return std::unique_ptr<ManifestStore>(std::move(store));
  }

 private:
  FileSystem& fs_;
  Runtime& runtime_;
  const LogOptions log_;
};

}  // namespace

std::unique_ptr<StoreFactory> make_local_stores(FileSystem& fs, Runtime& runtime, LogOptions log) {
  return std::make_unique<LocalStores>(fs, runtime, log);
}

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
