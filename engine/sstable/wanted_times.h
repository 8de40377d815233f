// WantedTimes: the timestamps that a read wants, which decide what tables and blocks it may skip.
//
// A set is skipped if it has neither a cell that the read may show nor a delete that covers one.
// Cells that share a timestamp are skipped together, so overwriting still works: whether a cell
// counts depends on the cells of its own timestamp and the deletes that cover it, and all of these
// are read. If versions are counted, newer cells matter too and are not skipped.
#pragma once

#include "engine/iter/time_bounds.h"
#include "engine/model/read_spec.h"

namespace cellar::engine {

struct WantedTimes {
  TimeRange range;
  // Some family counts versions: cells newer than the range decide which cells in it are alive.
  bool newer_cells_count = false;

  bool everything() const {
    return range.start_us <= 0 && (newer_cells_count || range.end_us == kMaxTimestampUs);
  }
  // Nothing in the set can change the result.
  bool excludes(const TimeBounds& bounds) const {
    if (!bounds.known || everything()) return false;
    const bool open_end = newer_cells_count || range.end_us == kMaxTimestampUs;
    const bool no_cells = !bounds.has_cells() || bounds.max_timestamp_us < range.start_us ||
                          (!open_end && bounds.min_timestamp_us >= range.end_us);
    const bool no_deletes =
        !bounds.has_deletes() ||
        (bounds.delete_end_us != kMaxTimestampUs && bounds.delete_end_us <= range.start_us) ||
        (!open_end && bounds.delete_start_us >= range.end_us);
    return no_cells && no_deletes;
  }
};

}  // namespace cellar::engine
