// The backup store in a Ceph pool. Everything lies in the namespace `cellar-backup/<name>`, so that
// one pool may hold the backups of many nodes:
//
//   SOURCE                           the data directory that is backed up
//   backup/<backup>                  one backup; written last
//   content/<backup>/<attempt>/<n>   its content, if it is larger than a piece
//   <blob id>.<n>                    rados_blob_names.h
#pragma once

#include <memory>
#include <string>

#include "engine/store/backup_place.h"
#include "engine/store/backup_store.h"
#include "engine/store/rados/rados_objects.h"

namespace cellar::engine {

// NOT_FOUND: no such pool. `port` and `runtime` must outlive the store.
Async<Result<std::unique_ptr<BackupStore>>> open_rados_backup_store(RadosPort& port,
                                                                    Runtime& runtime,
                                                                    RadosPlace place);

}  // namespace cellar::engine
