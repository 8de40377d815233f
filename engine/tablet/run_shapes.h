// RunShapes: a tablet's runs as input of the compaction pickers: sizes, times and bounds. A value,
// computed from table metadata without reading tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "engine/compaction/strategy.h"
#include "engine/options.h"
#include "engine/version/version.h"

namespace cellar::engine {

// The compaction strategy for these runs; `present`: the one used so far (automatic: none).
Compaction compaction_of(const SchemaSnapshot& schema, const std::vector<TabletRun>& runs,
                         Compaction present);

struct RunShapes {
  std::vector<TimedRun> runs;  // oldest first; times are set only for time windows
  std::vector<bool> damaged;   // cannot be merged, and separates the runs on either side
  size_t width = 0;            // largest number of runs in a merge
  size_t allowed = 0;
  int64_t window_us = 0;  // 0: tiered
};

// `compaction`: from compaction_of(). `blocks_bytes`: bound of the open blocks of a merge.
RunShapes run_shapes(const SchemaSnapshot& schema, const std::vector<TabletRun>& runs,
                     Compaction compaction, const EngineOptions& options, size_t blocks_bytes);

// The number of runs above what the compaction strategy lets stand.
size_t runs_behind(const std::vector<TabletRun>& runs, Compaction compaction,
                   const EngineOptions& options);

// The next merge that is due; indexes count from the oldest run. nullopt: none is due.
std::optional<RunWindow> pick_merge_of(const RunShapes& shapes);

}  // namespace cellar::engine
