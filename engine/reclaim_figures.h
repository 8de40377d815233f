// ReclaimFigures: what lies dead on disk, of a tablet, a shard or a table. A value; sums add up.
// Known from the profiles of tables (retention/death_spans.h) and, for what newer tables killed, by
// samples of rows (reclaim_view.h): so bytes are about right, to a twenty-fourth of a table as a
// rule.
#pragma once

#include <algorithm>
#include <cstdint>

namespace cellar::engine {

struct ReclaimFigures {
  uint64_t live_bytes = 0;     // on disk and not dead, about
  uint64_t dead_bytes = 0;     // dead and still on disk,
  uint64_t overdue_bytes = 0;  // of these: for longer than reclaim_within and the margin
  uint64_t held_bytes = 0;     // hidden by a rule that may still be undone; not among the dead
  uint64_t pinned_bytes = 0;   // of files that only readers hold any more; not among the others
  uint64_t unknown_bytes = 0;  // of files that do not tell what dies in them; among the live
  int64_t oldest_death_us = INT64_MAX;  // of what is dead; INT64_MAX: nothing is
  int64_t next_reclaim_us = INT64_MAX;  // trusted time of the next work; INT64_MAX: none to come

  void add(const ReclaimFigures& other) {
    live_bytes += other.live_bytes;
    dead_bytes += other.dead_bytes;
    overdue_bytes += other.overdue_bytes;
    held_bytes += other.held_bytes;
    pinned_bytes += other.pinned_bytes;
    unknown_bytes += other.unknown_bytes;
    oldest_death_us = std::min(oldest_death_us, other.oldest_death_us);
    next_reclaim_us = std::min(next_reclaim_us, other.next_reclaim_us);
  }
  bool operator==(const ReclaimFigures&) const = default;
};

}  // namespace cellar::engine
