// RepairWork: what the two ways of a repair share: repair_known.cc, by a manifest that decides, and
// repair_unknown.cc, without one.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "engine/backup/backup_blobs.h"
#include "engine/manifest/clock_state.h"
#include "engine/repair/commit_tables.h"
#include "engine/repair/log_salvage.h"
#include "engine/repair/manifest_salvage.h"
#include "engine/repair/repair.h"
#include "engine/repair/table_salvage.h"
#include "engine/store/log/log_files.h"

namespace cellar::engine {

struct RepairWork {
  RepairWork(FileSystem& source, FileSystem& target, Timers& timers, ShardExecutor executor,
             RepairOptions how);

  FileSystem& from;
  FileSystem& to;
  const RepairOptions options;
  const ShardExecutor executor;
  const std::unique_ptr<BlobStore> from_blobs;
  const std::unique_ptr<BlobStore> to_blobs;
  BackupProgress copying;
  BackupBlobs blobs;
  std::unique_ptr<RepairIds> ids;  // set when the session is known
  SalvagedManifest manifest;
  std::map<LogId, LogFiles> logs;  // those not removed
  RepairReport report;
  std::map<ManifestKey, ManifestEntry> entries;  // of the new manifest
  CommitStamp last;                              // latest stamp recovered

  // Of an entry of a log, which was added to the new tables or is malformed.
  void count(CommitStamp stamp, bool added) {
    if (added) last = std::max(last, stamp);
    ++(added ? report.commits : report.broken_entries);
  }
};

// How the tables of a file are written again.
TableWriterOptions format_of(const TableMeta& meta, bool index_in_parts);

// What became of a table on disk.
struct RescuedTable {
  TableMeta meta;
  bool copied = false;  // under its own id; otherwise rewritten without what is damaged
};
// Copies a table and reads the copy, or writes what is intact of it under a new id; reports what is
// lost. Empty: nothing of it is left. `known`: what the manifest says. Errors: of the new
// directory.
Async<Result<std::optional<RescuedTable>>> rescue_table(RepairWork& work, const TableMeta& known,
                                                        std::string table);
// Writes what is intact of an opened table; reports what is lost.
Async<Result<std::optional<TableMeta>>> rewrite_table(RepairWork& work, TableSalvage& salvage,
                                                      BlobId id, std::string table);
// Reports that nothing of a file is left.
void lose_table(RepairWork& work, BlobId id, const TableMeta* known, std::string table,
                std::string why);

// Surveys a log, delivers its entries, and counts them. Its gaps are left to the caller.
Async<Result<void>> read_log(RepairWork& work, LogSalvage& log, uint64_t from,
                             uint64_t recorded_end, LogTaker& sink);
void lose_log_part(RepairWork& work, const LogGap& gap);

// The clock of the new directory: `known`, not before `last`. Empty: nothing is known of time.
std::optional<ClockState> clock_not_before(std::optional<ClockState> known, CommitStamp last);

Async<Result<void>> repair_known(RepairWork& work);
Async<Result<void>> repair_unknown(RepairWork& work);

}  // namespace cellar::engine
