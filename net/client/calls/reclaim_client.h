// ReclaimClient: reports a node's backlog of reclaiming (SEMANTICS 3) and the reason for each file
// with dead data. Blocks, with its own loop, like BackupClient; for the program's main thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "io/base/result.h"
#include "net/client/api/options.h"

namespace cellar::client {

struct ReclaimQuestion {
  std::string table;  // empty: all
  uint32_t files =
      100;  // maximum number of files, up to 10,000; 0: figures only, which is cheaper for the node
};

// Why dead data is still on disk; schema/operate.fbs defines the fields of ReclaimFile for each
// reason. A newer node may have more.
enum class ReclaimReason : uint8_t {
  none = 0,
  within_slack = 1,
  margin = 2,
  its_turn = 3,
  later = 4,
  all_runs = 5,
  merging = 6,
  masks_older = 7,
  undo_window = 8,
  damaged = 9,
  beside_damaged = 10,
  failed = 11,
  read_only = 12,
  pinned_by_readers = 13,
  pinned_by_backup = 14,
  not_removed = 15,
  shared = 16,
  unknown = 17,
  in_vain = 18,
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

struct TableReclaim {
  std::string name;
  uint64_t table_id = 0;
  ReclaimFigures figures;
  int64_t reclaim_within_us = 0, margin_us = 0;
  double dead_slack = 0, reclaim_share = 0;
  int64_t missed_since_us = 0;  // since when the deadline has been missed; 0: met
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
};

class ReclaimClient {
 public:
  explicit ReclaimClient(ClientOptions options);
  ~ReclaimClient();
  ReclaimClient(const ReclaimClient&) = delete;
  ReclaimClient& operator=(const ReclaimClient&) = delete;

  // NOT_FOUND: no such table. UNIMPLEMENTED: the node is older than this operation.
  Result<ReclaimReport> ask(const ReclaimQuestion& question);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace cellar::client
