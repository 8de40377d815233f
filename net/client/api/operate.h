// Requests and replies of an operator: backups of a node, its state, its backlog of reclaiming.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/base/result.h"

namespace cellar::client {

// ---- backups ----

enum class BackupAction : uint8_t {
  status = 0,  // of the current or last job
  take = 1,    // starts a job, as verify, prune and restore do
  verify = 2,
  prune = 3,
  restore = 4,
  list = 5,  // the backups of a directory
  cancel = 6,
};

// FAILED_PRECONDITION: another job runs.
struct BackupCommand {
  BackupAction action = BackupAction::status;
  std::string directory = {};  // on the node, in one of its backup.directories
  std::string name = {};       // of the backup; empty: take: chosen by the node; else the newest
  std::vector<std::string> tables = {};  // take; empty: all
  uint32_t keep = 0;  // prune: the number of newest backups that stay, at least 1
  std::string table = {}, new_table = {};  // restore: the table in the backup, and its name here
};

struct BackupInfo {
  std::string name, program;
  int64_t wall_us = 0, trusted_us = 0;
  std::vector<std::string> tables;
  uint64_t blobs = 0, bytes = 0, copied_bytes = 0;
};

// The state of the current or last job.
struct BackupStatus {
  uint64_t job = 0;  // 0: none since the node's start
  std::string directory, name, phase;
  bool running = false;
  uint64_t bytes_total = 0, bytes_done = 0, blobs_total = 0, blobs_done = 0, copied_bytes = 0;
  std::optional<Error> error;       // of a failed job
  std::vector<BackupInfo> backups;  // verified, pruned or listed ones
};

// ---- the node ----

enum class ControlAction : uint8_t {
  status = 0,
  reload = 1,     // FAILED_PRECONDITION: the configuration is invalid and not applied
  drain = 2,      // the node reports draining but still serves
  take_work = 3,  // reverts drain
};

struct SettingChange {
  std::string name, before, after;
};

// The state of a node and the result of a reload.
struct ControlStatus {
  std::string state;                        // as in /readyz: "ready", "read-only", ...
  std::string reason;                       // a sentence without a full stop
  uint64_t connections = 0;                 // open now, including this client's
  std::vector<SettingChange> changed;       // now in force
  std::vector<SettingChange> need_restart;  // requested; in force after the next start
  int64_t certificate_expires_us = 0;       // 0: the node does not use TLS
  std::vector<std::string> backup_directories;
};

// ---- reclaiming (SEMANTICS 3) ----

struct ReclaimQuestion {
  std::string table = {};  // empty: all
  // The maximum number of files, up to 10,000; 0: figures only, which costs the node less.
  uint32_t files = 100;
};

// Why dead data is still on disk; schema/operate.fbs defines the fields of ReclaimFile for each
// reason. A newer node may have more.
enum class ReclaimReason : uint8_t {
  none = 0,
  within_slack = 1,
  margin = 2,
  its_turn = 3,
  undo_window = 8,
  damaged = 9,
  failed = 11,
  pinned_by_readers = 13,
  pinned_by_backup = 14,
  not_removed = 15,
  shared = 16,
  unknown = 17,
};

// Figures of a table or shard. Times are trusted time; 0: none.
struct ReclaimFigures {
  uint64_t live_bytes = 0, dead_bytes = 0;
  uint64_t overdue_bytes = 0;  // dead for longer than reclaim_within plus the margin
  uint64_t held_bytes = 0;     // kept by undo windows
  uint64_t pinned_bytes = 0;   // replaced files that are still in use
  uint64_t unknown_bytes = 0;  // files without statistics about expiry
  uint64_t damaged_files = 0;
  int64_t oldest_death_us = 0, next_reclaim_us = 0;
};

// When the files of a table were last read and verified. Trusted time.
struct Verified {
  bool none = false;  // there are no files
  // Every byte on disk was written, or read and found whole, then or later; 0: some file has not
  // been read yet.
  int64_t since_us = 0;
  uint64_t bytes = 0;  // in files whose time is within scrub_every_us
  uint64_t damaged_files = 0;
};

struct TableReclaim {
  std::string name;
  uint64_t table_id = 0;
  ReclaimFigures figures;
  int64_t reclaim_within_us = 0, margin_us = 0;
  double dead_slack = 0, reclaim_share = 0;
  int64_t missed_since_us = 0;       // since when the deadline has been missed; 0: met
  std::optional<Verified> verified;  // none: the node is older
};

struct ReclaimFile {
  uint64_t tablet_id = 0, blob = 0, run = 0;
  uint64_t bytes = 0, dead_bytes = 0, overdue_bytes = 0, held_bytes = 0;
  int64_t overdue_since_us = 0;
  bool wholly_dead = false;
  ReclaimReason reason = ReclaimReason::none;
  int64_t since_us = 0, until_us = 0, done_us = 0;
  uint64_t count = 0, other = 0;
  std::string error;
};

// Total of all files with one reason.
struct ReclaimSum {
  ReclaimReason reason = ReclaimReason::none;
  uint64_t files = 0, bytes = 0, dead_bytes = 0, overdue_bytes = 0;
};

struct ReclaimReport {
  int64_t now_us = 0;                  // trusted time
  std::vector<TableReclaim> tables;    // by name
  std::vector<ReclaimFigures> shards;  // one per shard
  std::vector<ReclaimFile> files;      // most overdue bytes first
  uint64_t files_there = 0;            // total number; `files` may be incomplete
  std::vector<ReclaimSum> sums;        // most overdue bytes first
  int64_t scrub_every_us = 0;          // the node's tables.scrub_every; 0: never
};

}  // namespace cellar::client
