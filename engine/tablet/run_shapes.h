// RunShapes: a tablet's runs as the pickers see them: how large, from when, and how many may stand.
// A value, made from what is known of tables, without reading any.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/compaction/strategy.h"
#include "engine/options.h"
#include "engine/version/version.h"

namespace cellar::engine {

// The way to merge that is at work with these runs; `present` is the one so far (automatic: none).
Compaction compaction_of(const SchemaSnapshot& schema, const std::vector<TabletRun>& runs,
                         Compaction present);

struct RunShapes {
  std::vector<TimedRun> runs;  // oldest first; times only where windows are at work
  std::vector<bool> damaged;   // cannot be merged, and stands between those on either side
  size_t width = 0;            // of a merge
  size_t allowed = 0;
  int64_t window_us = 0;  // 0: tiered
};

// `compaction` as compaction_of() says; `blocks_bytes`: what the open blocks of a merge may take.
RunShapes run_shapes(const SchemaSnapshot& schema, const std::vector<TabletRun>& runs,
                     Compaction compaction, const EngineOptions& options, size_t blocks_bytes);

// How many runs there are more than merging lets stand.
size_t runs_behind(const std::vector<TabletRun>& runs, Compaction compaction,
                   const EngineOptions& options);

// The merge that is due next, counted from the oldest run; nothing when none is.
std::optional<RunWindow> pick_merge_of(const RunShapes& shapes);

}  // namespace cellar::engine
