// WantedTimes: which times a read wants, and so which tables and blocks it may pass over.
//
// Left out is what holds neither a cell that the read may show nor a delete that reaches one. Cells
// that share a timestamp share the verdict, so overwriting is not disturbed: whether a cell counts
// is decided among those of its own timestamp and the deletes that reach it, and all of these are
// looked at. Where versions are counted what is newer than the range decides, too, and is kept.
#pragma once

#include "engine/iter/time_bounds.h"
#include "engine/model/read_spec.h"

namespace cellar::engine {

struct WantedTimes {
  TimeRange range;
  // Some family counts versions: what is newer than the range says what lives inside it.
  bool newer_cells_count = false;

  bool everything() const {
    return range.start_us <= 0 && (newer_cells_count || range.end_us == kMaxTimestampUs);
  }
  // Nothing in there can change the answer.
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
