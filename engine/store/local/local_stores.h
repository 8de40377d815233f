// The local implementations of the storage interfaces over one FileSystem. All other code uses the
// interfaces only.
#pragma once

#include <memory>

#include "engine/store/blob_store.h"
#include "engine/store/log_options.h"
#include "engine/store/log_store.h"
#include "engine/store/manifest/local_manifest_store.h"
#include "engine/store/manifest_store.h"
#include "engine/store/store_factory.h"
#include "io/disk/file.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

// Of one shard of a node that keeps its data on the machine's disk. `fs` and `runtime` belong to
// the shard and must outlive the factory.
std::unique_ptr<StoreFactory> make_local_stores(FileSystem& fs, Runtime& runtime, LogOptions log);

// Single stores, for tools and tests. For one shard; `fs`, `runtime` and `timers` belong to it and
// must outlive the store. No I/O happens here. With timers, blobs are removed with pauses.
std::unique_ptr<LogStore> make_local_log_store(FileSystem& fs, Runtime& runtime,
                                               LogOptions options);
std::unique_ptr<BlobStore> make_local_blob_store(FileSystem& fs, Timers* timers = nullptr);

// For the node, on shard 0. See LocalManifestStore::open.
Async<Result<std::unique_ptr<ManifestStore>>> open_local_manifest_store(FileSystem& fs,
                                                                        ManifestOptions options);

}  // namespace cellar::engine
