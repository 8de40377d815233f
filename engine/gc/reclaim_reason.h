// The reason why dead data is still on disk: one of a fixed list for each file, from the state on
// which reclaiming decides. reclaim_snapshot() gathers that state; reclaim_reasons() is a pure
// function of it.
//
// A file is reported if it has overdue bytes, is completely dead, is held by an undo window or
// pinned, was found damaged, or has no statistics about expiry.
//
// Example, a table of two files, one completely dead at 10:00 and over an older one:
//   its_turn, other = the older file, until = when all runs will be merged
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

class Tablet;
struct ReclaimEstimate;

// One per kind of answer to "what can an operator do about it". Numbers are on the wire; the
// missing ones are reserved. Each comment gives the fields of ReclaimFile that are set.
enum class ReclaimReason : uint8_t {
  none = 0,
  within_slack = 1,  // overdue bytes are within dead_slack: until = when they will not be, or never
  margin = 2,        // completely dead, but within the removal margin: until
  // Work on it starts at `until` and ends about `done_us`; it merges all of `count` runs, if given.
  // `other`: completely dead, and something older that it masks, possibly there, would reappear
  // without that merge. `since`: it is in the merge that began then.
  its_turn = 3,
  undo_window = 8,  // a change of the rule may still be undone: until
  // Unreadable, and excluded from merges: error. Or: only a merge that reads the damaged `other`
  // removes it.
  damaged = 9,
  // The last attempt failed: error, since; retried: until. Without `since`: the shard accepts no
  // writes.
  failed = 11,
  pinned_by_readers = 13,  // replaced, but still read by `count` cursors: since
  pinned_by_backup = 14,   // replaced, but being copied by a backup: since
  not_removed = 15,        // replaced, but the removal failed: error; removed at the next start
  shared = 16,   // has rows of tablets that no longer name it; `count` tablets need the rest
  unknown = 17,  // without statistics about expiry: a cell profile
};
inline constexpr size_t kReclaimReasons = 18;  // bound of the numbers

// The name in JSON, such as "within_slack"; empty for a number that is not used.
std::string_view reclaim_reason_name(ReclaimReason reason);

struct ReclaimFile {
  TabletId tablet;
  BlobId blob;
  uint64_t run = 0;  // a greater number has newer commits
  uint64_t bytes = 0;
  uint64_t dead_bytes = 0;
  uint64_t overdue_bytes = 0;
  uint64_t held_bytes = 0;               // held by an undo window
  int64_t overdue_since_us = INT64_MAX;  // its oldest overdue byte; INT64_MAX: none
  bool wholly_dead = false;
  ReclaimReason reason = ReclaimReason::none;
  int64_t since_us = 0;          // 0: not given
  int64_t until_us = INT64_MAX;  // trusted time; INT64_MAX: unknown or never
  int64_t done_us = INT64_MAX;   // trusted time; INT64_MAX: unknown or never
  uint64_t count = 0;
  BlobId other;
  std::string error;
};

// A file with the facts known to reclaiming. Times are trusted time.
struct ReclaimFileState : ReclaimInput {
  BlobId blob;
  uint64_t run_number = 0;
  double all_dead = 0;     // of both kinds, now
  double all_overdue = 0;  // of both kinds, now; `overdue` and `killed` of ReclaimInput look ahead
  double held = 0;
  int64_t overdue_since_us = INT64_MAX;
  int64_t dead_from_us = INT64_MAX;  // completely, by firm rules; INT64_MAX: not completely
  bool goes = false;                 // see DeadTable::goes
  std::optional<BlobId> masked;      // see DeadTable::masked
  bool unknown = false;
  bool merging = false;
  std::string damage;  // if `damaged`
};

// A tablet with the facts known to reclaiming.
struct ReclaimSnapshot {
  TabletId tablet;
  std::vector<ReclaimFileState> files;  // newest run first
  size_t runs = 0;
  bool counts = false;  // some family counts versions
  bool due = false;     // overdue bytes exceed the slack, or will when work would end
  int64_t now_us = 0;
  int64_t margin_us = 0;
  int64_t slack_due_us = INT64_MAX;  // when that happens
  int64_t merge_due_us = INT64_MAX;  // when all runs are merged because of completely dead tables
  int64_t not_before_us = 0;         // no work starts earlier
  double us_per_byte = 0;            // time of work per byte, including pauses; 0: unknown
  int64_t undo_until_us = 0;
  int64_t merge_began_us = 0;
  std::optional<std::string> failure;
  int64_t failed_us = 0;
  std::optional<std::string> stopped;  // why the shard accepts no writes
};

// The present state. Files in the order of the estimate.
ReclaimSnapshot reclaim_snapshot(Tablet& tablet, const ReclaimEstimate& estimate);

// The files to report.
std::vector<ReclaimFile> reclaim_reasons(const ReclaimSnapshot& snapshot);

}  // namespace cellar::engine
