// Backups: takes backups of the node and restores tables of them (backup.h), one at a time. On
// shard 0. Its lock is taken before the turn of reshapes and the catalog's lock.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/backup/backup.h"
#include "engine/node/create_table.h"
#include "engine/node/node_catalog.h"
#include "engine/node/node_shards.h"
#include "engine/node/tablet_calls.h"

namespace cellar::engine {

class Backups {
 public:
  // `home_reaper` is shard 0's.
  Backups(NodeShards& shards, NodeCatalog& catalog, ClockKeeper& clock, ManifestStore& manifest,
          ObsoleteBlobDeleter& home_reaper, TabletCalls& calls, TableCreations& creations)
      : shards_(shards),
        catalog_(catalog),
        clock_(clock),
        manifest_(manifest),
        home_deleter_(home_reaper),
        calls_(calls),
        creations_(creations) {}

  // See Node::back_up and Node::restore_backup.
  Async<Result<void>> take(BackupStore& store, BackupRequest request, BackupProgress& progress);
  Async<Result<TableEntry>> restore(BackupStore& store, RestoreRequest request, Author by,
                                    BackupProgress& progress);

 private:
  class Taking;
  Async<Result<void>> take_held(Taking& taking, BackupStore& store, const BackupRequest& request,
                                BackupProgress& progress);
  Async<Result<void>> flush_each(std::map<uint64_t, std::string>& tables, bool must);
  Async<Result<void>> hold_blobs(std::optional<std::vector<BlobId>> only);
  Async<Result<void>> release_blobs();
  Result<std::vector<const TableEntry*>> tables_named(const std::vector<std::string>& names) const;
  Async<Result<TableEntry>> restore_locked(BackupStore& store, const RestoreRequest& request,
                                           Author by, BackupProgress& progress);
  // Resumes when every shard's clock has reached the time; FAILED_PRECONDITION if that takes
  // longer than twice ClockKeeper::kSlackUs.
  Async<Result<void>> reach_time(int64_t wanted_us);

  NodeShards& shards_;
  NodeCatalog& catalog_;
  ClockKeeper& clock_;
  ManifestStore& manifest_;
  ObsoleteBlobDeleter& home_deleter_;
  TabletCalls& calls_;
  TableCreations& creations_;
  AsyncMutex lock_;
};

}  // namespace cellar::engine
