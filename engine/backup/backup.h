// Backups: copies of tables at one instant, taken while the node serves, in a separate directory in
// which backups share unchanged blobs.
//
// Taking one: removal of blobs is suspended on all shards; every table is flushed; the manifest is
// read, which is one instant for all tablets; from here on only the blobs that it names are held;
// those missing in the destination are copied, read again and compared, and all their entries are
// read; the backup's file is written last. A backup therefore includes everything acknowledged
// before it began, each row is as of one stamp, and an interrupted backup does not exist: its blobs
// are used by the next one or removed by the next pruning.
//
// Retention continues in a backup: it contains the data as on disk, with its stamps, deletes and
// rules. A restored table shows what would be alive now if it had never been away. That needs a
// clock that is not before the backup's; otherwise a restore is refused.
//
// Node (node.h) takes a backup and restores a table into a running node. Everything here runs on
// the home shard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/catalog/audit_trail.h"
#include "engine/catalog/table_map.h"
#include "engine/store/backup_store.h"
#include "engine/store/manifest_store.h"

namespace cellar::engine {

struct BackupRequest {
  std::string name;
  std::vector<std::string> tables;  // empty: all
  std::string source;               // id of the data directory
  std::string program;              // version of this program
};

// The progress of a job, and its cancellation. On the home shard.
struct BackupProgress {
  std::string_view phase = "waiting";
  uint64_t bytes_total = 0;
  uint64_t bytes_done = 0;  // including bytes that needed no copy
  uint64_t blobs_total = 0;
  uint64_t blobs_done = 0;
  uint64_t copied_bytes = 0;
  bool cancelled = false;
  // Limit of bytes read and written in total; 0: none.
  uint64_t rate_bytes_per_s = 0;
};

struct BackupSummary {
  std::string name;
  std::string program;
  int64_t wall_us = 0;
  int64_t trusted_us = 0;
  std::vector<std::string> tables;
  uint64_t blobs = 0;
  uint64_t bytes = 0;
  uint64_t copied_bytes = 0;
};

struct RestoreRequest {
  std::string name;       // of the backup
  std::string table;      // in it
  std::string new_table;  // its name in the node
};

// All backups, oldest first. An unreadable one is an error that names its file.
Async<Result<std::vector<BackupSummary>>> list_backups(BackupStore& store);

// Reads every byte of a backup: sizes and checksums of its blobs, every entry of its tables.
// DATA_LOSS names the missing or damaged file.
Async<Result<BackupSummary>> verify_backup(BackupStore& store, std::string name, Timers& timers,
                                           ShardExecutor executor, BackupProgress& progress);

// Removes all but the newest `keep` backups, and those whose wall time is before `taken_from_us`,
// but never the newest; then every blob that none of the others names. Returns the names of those
// removed.
Async<Result<std::vector<std::string>>> prune_backups(BackupStore& store, uint32_t keep,
                                                      int64_t taken_from_us = INT64_MIN);

// Restores a whole backup into a directory that has no store. What an error or an interruption
// leaves is a part of it: no start may accept the directory before the end
// (engine/store/local/unfinished_directory.h).
// FAILED_PRECONDITION: the directory is in use, the backup is of another format, or the present
// time `wall_us` is before the backup's trusted time.
Async<Result<BackupSummary>> restore_directory(BackupStore& store, std::string name,
                                               BlobStore& blobs, ManifestStore& manifest,
                                               int64_t wall_us, Timers& timers,
                                               ShardExecutor executor, BackupProgress& progress);

}  // namespace cellar::engine
