// ReclaimClient: asks a node how far behind its reclaiming is (SEMANTICS 3), and why each file with
// something dead in it is still there. Blocks, with a loop of its own, as BackupClient does; the
// program's main thread.
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
      100;  // at most so many, up to 10,000; 0: figures alone, which costs the node less
};

// Why something dead is still on disk; schema/operate.fbs says what the fields of ReclaimFile mean
// with each. A newer node may know more.
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

// Of a table or a shard. Times are trusted; 0: there is none.
struct ReclaimFigures {
  uint64_t live_bytes = 0, dead_bytes = 0;
  uint64_t overdue_bytes = 0;  // dead for longer than reclaim_within and the margin
  uint64_t held_bytes = 0;     // kept by undo windows
  uint64_t pinned_bytes = 0;   // of replaced files that somebody holds
  uint64_t unknown_bytes = 0;  // of files that do not tell what dies in them
  uint64_t damaged_files = 0;
  int64_t oldest_death_us = 0, next_reclaim_us = 0;
};

struct TableReclaim {
  std::string name;
  uint64_t table_id = 0;
  ReclaimFigures figures;
  int64_t reclaim_within_us = 0, margin_us = 0;
  double dead_slack = 0, reclaim_share = 0;
  int64_t missed_since_us = 0;  // since when the deadline is missed; 0: it is met
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

// Of all files with one reason.
struct ReclaimSum {
  ReclaimReason reason = ReclaimReason::none;
  uint64_t files = 0, bytes = 0, dead_bytes = 0, overdue_bytes = 0;
};

struct ReclaimReport {
  int64_t now_us = 0;                  // trusted time
  std::vector<TableReclaim> tables;    // by name
  std::vector<ReclaimFigures> shards;  // one a shard
  std::vector<ReclaimFile> files;      // what is overdue most first
  uint64_t files_there = 0;            // of which `files` may be only some
  std::vector<ReclaimSum> sums;        // what is overdue most first
};

class ReclaimClient {
 public:
  explicit ReclaimClient(ClientOptions options);
  ~ReclaimClient();
  ReclaimClient(const ReclaimClient&) = delete;
  ReclaimClient& operator=(const ReclaimClient&) = delete;

  // NOT_FOUND: there is no such table. UNIMPLEMENTED: the node is older than the operation.
  Result<ReclaimReport> ask(const ReclaimQuestion& question);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

}  // namespace cellar::client
