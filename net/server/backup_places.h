// Opens the places of backups: a directory of the machine, or rados:POOL/NAME in a Ceph cluster.
#pragma once

#include <memory>

#include "engine/store/backup_place.h"
#include "io/disk/backend.h"
#include "io/loop/loop.h"
#include "io/loop/runtime.h"
#include "net/server/config/options.h"

namespace cellar::server {

using OpenedPlace = std::unique_ptr<engine::BackupPlace>;

// Of a directory that is open.
OpenedPlace make_directory_place(std::unique_ptr<FileSystem> fs);

// `request` is as open_directory() takes it; for a place in Ceph only its path counts, which
// check_backup_directory() has permitted. `loop` and `pool`, where every call that blocks is made,
// must outlive the place. Errors: those of open_directory(); FAILED_PRECONDITION that names the
// cluster module or the setting ceph.config; NOT_FOUND that names the pool; Ceph's own.
Async<Result<OpenedPlace>> open_backup_place(Loop& loop, Runtime runtime, BlockingPool& pool,
                                             CephOptions ceph, DirectoryRequest request);

}  // namespace cellar::server
