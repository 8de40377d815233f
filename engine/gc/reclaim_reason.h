// Why what is dead is still on disk: one of a closed list of reasons for each file, from the very
// state that reclaiming goes by (reclaim_snapshot.h). A pure function.
//
// A file is told of when it holds overdue bytes, is wholly dead, is kept by an undo window or
// pinned, was found damaged, or does not tell what dies in it.
//
// Example, a table of two files, one wholly dead at 10:00 and over an older one:
//   masks_older, other = the older file, until = when all runs will be merged
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/gc/reclaim_picker.h"
#include "engine/model/types.h"

namespace cellar::engine {

// Numbers are on the wire. Beside each: what the fields of ReclaimFile mean with it.
enum class ReclaimReason : uint8_t {
  none = 0,
  within_slack =
      1,            // what is overdue is no more than dead_slack: until = when it will be, or never
  margin = 2,       // wholly dead, but not yet for the removal margin: until
  its_turn = 3,     // what is worked on next: from `until` on; done about at `done_us`
  later = 4,        // after what frees more for what it writes; likewise
  all_runs = 5,     // as its_turn, by a merge of `count` runs: versions are counted
  merging = 6,      // goes into the merge that runs: since
  masks_older = 7,  // wholly dead, but something older that it masks would come back, perhaps in
                    // `other`; goes in the merge of all runs: until
  undo_window = 8,  // a change of the rule may still be undone: until
  damaged = 9,      // cannot be read, and no merge tries: error
  beside_damaged = 10,     // only a merge that reads `other`, which is damaged, takes it away
  failed = 11,             // the last attempt failed: error, since; tried again: until
  read_only = 12,          // the shard takes no writes: error
  pinned_by_readers = 13,  // replaced, but `count` cursors still read it: since
  pinned_by_backup = 14,   // replaced, but a backup copies it: since
  not_removed = 15,        // replaced, but the disk refused: error; goes at the next start
  shared = 16,   // holds rows of other tablets, which let go of them; `count` tablets need the rest
  unknown = 17,  // written by a version that did not note what dies in it
  in_vain = 18,  // the last attempt took less away than is thought to be dead: until
};
inline constexpr size_t kReclaimReasons = 19;

// "within_slack": for programs.
std::string_view reclaim_reason_name(ReclaimReason reason);

struct ReclaimFile {
  TabletId tablet;
  BlobId blob;
  uint64_t run = 0;  // a greater number holds newer commits
  uint64_t bytes = 0;
  uint64_t dead_bytes = 0;
  uint64_t overdue_bytes = 0;
  uint64_t held_bytes = 0;               // by an undo window
  int64_t overdue_since_us = INT64_MAX;  // its oldest overdue byte; INT64_MAX: none is
  bool wholly_dead = false;
  ReclaimReason reason = ReclaimReason::none;
  int64_t since_us = 0;          // 0: not said
  int64_t until_us = INT64_MAX;  // trusted; INT64_MAX: not known, or never
  int64_t done_us = INT64_MAX;   // likewise
  uint64_t count = 0;
  BlobId other;
  std::string error;
};

// A file as reclaiming sees it. Times are trusted.
struct ReclaimFileState : ReclaimInput {
  BlobId blob;
  uint64_t run_number = 0;
  double all_dead = 0;     // of both kinds, now
  double all_overdue = 0;  // likewise; `overdue` and `killed` of ReclaimInput look ahead
  double held = 0;
  int64_t overdue_since_us = INT64_MAX;
  int64_t dead_from_us = INT64_MAX;  // wholly, by firm rules; INT64_MAX: it is not
  bool goes = false;                 // DeadTable::goes
  std::optional<BlobId> masked;      // DeadTable::masked
  bool unknown = false;
  bool merging = false;
  std::string damage;  // where `damaged`
};

// A tablet as reclaiming sees it.
struct ReclaimSnapshot {
  TabletId tablet;
  std::vector<ReclaimFileState> files;  // newest run first
  size_t runs = 0;
  bool counts = false;  // versions
  bool due = false;     // more is overdue than the slack allows, or will be when work would end
  int64_t now_us = 0;
  int64_t margin_us = 0;
  int64_t slack_due_us = INT64_MAX;  // when that will be
  int64_t merge_due_us = INT64_MAX;  // when all runs are merged, for what is wholly dead
  int64_t not_before_us = 0;         // nothing is begun earlier
  double us_per_byte = 0;            // that work takes, rests included; 0: not known yet
  int64_t undo_until_us = 0;
  int64_t merge_began_us = 0;
  std::optional<std::string> failure;
  int64_t failed_us = 0;
  bool in_vain = false;
  std::optional<std::string> stopped;  // why the shard takes no writes
};

// Those of the files that there is something to tell of.
std::vector<ReclaimFile> reclaim_reasons(const ReclaimSnapshot& situation);

}  // namespace cellar::engine
