// The local bodies of the three storage interfaces over one FileSystem. This is where one machine
// is a special case: everybody else sees only the interfaces.
#pragma once

#include <memory>

#include "engine/store/blob_store.h"
#include "engine/store/local_manifest_store.h"
#include "engine/store/log_options.h"
#include "engine/store/log_store.h"
#include "engine/store/manifest_store.h"
#include "io/disk/file.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

// One shard's; `fs`, `runtime` and `timers` are that shard's and must outlive it. Nothing is
// touched here. With timers blobs are removed at a pace that leaves others the disk.
std::unique_ptr<LogStore> make_local_log_store(FileSystem& fs, Runtime& runtime,
                                               LogOptions options);
std::unique_ptr<BlobStore> make_local_blob_store(FileSystem& fs, Timers* timers = nullptr);

// The node's, on shard 0. See LocalManifestStore::open.
Async<Result<std::unique_ptr<ManifestStore>>> open_local_manifest_store(FileSystem& fs,
                                                                        ManifestOptions options);

}  // namespace cellar::engine
