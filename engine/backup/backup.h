// Backups: a copy of tables as they were at one instant, taken while the node serves, in a
// directory of its own where one backup shares with the others what has not changed.
//
// Taking one: no blob is removed any more on any shard; every table is flushed; the manifest is
// read, which is one instant for all tablets; from here on only the blobs that it names are kept;
// those that the destination does not have are copied, read again and compared, and every entry of
// them is looked at; the backup's file is written last. So what was acknowledged before the backup
// began is in it, each row is as it was at one stamp, and a backup that was interrupted is none:
// its blobs are taken by the next one or go with the next pruning.
//
// Retention goes on in a backup: it is data as it lies on disk, with its stamps, deletes and rules.
// A restored table shows what would be alive now had it never been away. That needs a clock that is
// not behind the backup's, and a restore refuses one that is.
//
// Everything here runs on the home shard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/catalog/audit_trail.h"
#include "engine/catalog/table_map.h"
#include "engine/store/backup_store.h"
#include "engine/store/manifest_store.h"

namespace cellar::engine {

class Node;

struct BackupRequest {
  std::string name;
  std::vector<std::string> tables;  // empty: all
  std::string source;               // id of the data directory
  std::string program;              // version of this program
};

// What is told while it goes on, and how it is called off. Lives on the home shard.
struct BackupProgress {
  std::string_view phase = "waiting";
  uint64_t bytes_total = 0;
  uint64_t bytes_done = 0;  // those that needed no copy included
  uint64_t blobs_total = 0;
  uint64_t blobs_done = 0;
  uint64_t copied_bytes = 0;
  bool cancelled = false;
  // Read and written, together; 0: no bound.
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

// Of a running node: BackupRequest's tables as they are. `from` is the shard that asks; store and
// progress are the home shard's and live until the answer. One backup or restore of a node at a
// time; others wait. FAILED_PRECONDITION: the store holds backups of another directory.
// ALREADY_EXISTS: it holds one of this name. NOT_FOUND: no such table.
Async<Result<void>> back_up(Node& node, ShardId from, BackupStore& store, BackupRequest request,
                            BackupProgress& progress);

struct RestoreRequest {
  std::string name;       // of the backup
  std::string table;      // in it
  std::string new_table;  // its name here
};
// Into a running node: a table of a backup becomes a new table, written anew, with its stamps,
// deletes and rules. NOT_FOUND: no such backup or table in it. ALREADY_EXISTS. FAILED_PRECONDITION:
// trusted time is behind the backup's. DATA_LOSS naming the file.
Async<Result<TableEntry>> restore_backup(Node& node, ShardId from, BackupStore& store,
                                         RestoreRequest request, Author by,
                                         BackupProgress& progress);

// All of them, oldest first. One that cannot be read is an error that names its file.
Async<Result<std::vector<BackupSummary>>> list_backups(BackupStore& store);

// Reads every byte of a backup: sizes and checksums of its blobs, every entry of its tables.
// DATA_LOSS names the file that is missing or damaged.
Async<Result<BackupSummary>> verify_backup(BackupStore& store, std::string name, Timers& timers,
                                           ShardExecutor executor, BackupProgress& progress);

// Removes all but the newest `keep` backups (at least one), then every blob that none of the others
// names. The names of those removed.
Async<Result<std::vector<std::string>>> prune_backups(BackupStore& store, uint32_t keep);

// Fills a directory of `format` (store/format_file.h) that holds no store with all of a backup.
// FAILED_PRECONDITION: it is in use, or of an older format than what the backup was taken of, or
// `wall_us`, which is what time it is here, is before the backup's trusted time.
Async<Result<BackupSummary>> restore_directory(BackupStore& store, std::string name,
                                               BlobStore& blobs, ManifestStore& manifest,
                                               uint32_t format, int64_t wall_us, Timers& timers,
                                               ShardExecutor executor, BackupProgress& progress);

}  // namespace cellar::engine
