// Repair: rebuilds a data directory from what is intact of another one, offline.
//
// Invariants
//   1. The source is only read: no file of it is made, written, renamed, removed or locked for
//      writing.
//   2. The new directory has no FORMAT until everything else in it is durable, and from the first
//      moment a file that no start accepts without FORMAT. So a repair that was interrupted leaves
//      a directory which every node refuses.
//   3. A manifest that is whole decides which files are live, which rows of a shared file belong to
//      a tablet, and which commits of a log are in no table yet. Then the new directory holds
//      exactly the source's data, less what is reported as lost.
//   4. Without such a manifest every table on disk and every commit of every log goes in, even what
//      a merge had replaced but a start had not yet removed. The deletes that this merge dropped
//      are gone. So rows and cells that were dead may be in it: the report says so. The
//      entries of a table become one run of one tablet over all rows, because the order of runs, on
//      which reads rely, is not known any more. An entry that occurs twice is kept once; that of
//      the newer file wins, which may have lost its value because it was dead.
//   5. Nothing is killed by a guess. A table, or a family, whose definition is unknown gets no rule
//      and a creation before all of its cells.
//   6. Time does not go back: the new directory's clock begins no earlier than what the newest
//      anchor permitted, nor before the latest stamp that was recovered.
//   7. Ids are not reused: the session is later than that of every file, and next ids are above all
//      that were found.
//   8. No value is made up: every entry has passed its checksum and stands unchanged.
//
// Loss of a block, a file or a part of a log also loses the deletes in it, so in the same rows
// older versions may be seen again. The report's lost rows are those of the files; what a gap in a
// log held is not known by row.
#pragma once

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "engine/model/read_spec.h"
#include "engine/model/types.h"
#include "io/disk/file.h"
#include "io/loop/runtime.h"

namespace cellar::engine {

struct LostFile {
  std::string path;
  std::string table;  // name, or "table N"; empty: unknown
  std::string why;
  bool whole = false;               // nothing of it was recovered
  uint64_t blocks = 0;              // lost
  uint64_t bytes = 0;               // stored bytes of them
  std::vector<KeyRange> rows = {};  // in which entries may be missing
  bool range_deletes = false;       // its deletes of row ranges are lost
};

struct LostLogPart {
  std::string place;  // file and offset
  uint64_t from = 0;  // positions [from, to)
  uint64_t to = 0;
  CommitStamp after;   // commits between these stamps are missing; 0: from the beginning
  CommitStamp before;  // kMaxStamp: to the end
};

struct RepairedTable {
  uint64_t id = 0;
  std::string name;
  bool defined = true;   // false: its definition is lost; the name is generated
  bool dropped = false;  // can still be restored
  std::vector<std::string> added_families = {};  // found in files only: no rule
  uint64_t tablets = 0;
  uint64_t files = 0;
  uint64_t bytes = 0;
  uint64_t commits = 0;  // from logs
};

struct RepairReport {
  std::string id;  // of the new directory
  bool manifest_decides = false;
  std::string manifest;             // the one used; empty: none
  std::vector<std::string> damage;  // of FORMAT, pointers and manifests

  uint64_t files_found = 0;  // tables on disk that were looked at
  uint64_t files_copied = 0;
  uint64_t files_rewritten = 0;
  uint64_t files_ignored = 0;  // no tablet names them
  uint64_t logs_found = 0;
  uint64_t log_entries = 0;   // read
  uint64_t commits = 0;       // recovered from logs
  uint64_t torn_records = 0;  // never acknowledged; no loss
  uint64_t broken_entries = 0;
  uint64_t bytes = 0;  // of tables in the new directory

  std::vector<RepairedTable> tables;
  std::vector<LostFile> lost_files;
  std::vector<LostLogPart> lost_logs;

  // Nothing is lost, nothing is in doubt.
  bool complete() const {
    return manifest_decides && lost_files.empty() && lost_logs.empty() && broken_entries == 0;
  }
  bool nothing() const { return !manifest_decides && tables.empty(); }
};

inline constexpr size_t kRepairMemtableBytes = 64u << 20;

struct RepairOptions {
  std::string id;  // of the new directory
  // Commits of logs are held in this much memory, then written as a table each tablet.
  size_t memtable_bytes = kRepairMemtableBytes;
  std::function<void(const std::string&)> progress;  // a sentence; may be empty
};

// Whether it can be the source of a repair. FAILED_PRECONDITION: of another format, or it has
// neither a FORMAT nor data.
Async<Result<void>> check_source(FileSystem& from);

// `from` and `to` are rooted at the directories; `to` is empty but for its lock.
// FAILED_PRECONDITION: the source is of another format, or none. Other errors are of the new
// directory's disk, which is then not complete. A source in which no table is found is not an
// error: the report says nothing().
Async<Result<RepairReport>> repair_directory(FileSystem& from, FileSystem& to, Timers& timers,
                                             ShardExecutor executor, RepairOptions options);

// In words, or as one JSON object.
void print_repair(const RepairReport& report, bool json, std::ostream& out);

}  // namespace cellar::engine
