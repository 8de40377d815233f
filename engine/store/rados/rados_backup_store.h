// The backup store in a Ceph pool. Everything lies in the namespace `cellar-backup/<name>`, so that
// one pool may hold the backups of many nodes:
//
//   SOURCE                           the data directory that is backed up
//   backup/<backup>                  one backup; written last
//   content/<backup>/<attempt>/<n>   its content, if it is larger than a piece
//   <blob id>.*                      rados_blob_names.h
//
// One process at a time takes or prunes backups in a place. SOURCE refuses another data directory,
// but not a copy of the same one, whose prune may remove blobs of a backup that is being taken.
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
