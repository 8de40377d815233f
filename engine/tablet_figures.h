// TabletFigures: the state of one tablet at a moment, for the balancer and for operators. A value.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/catalog/table_map.h"
#include "engine/model/schema.h"
#include "engine/model/types.h"
#include "engine/reclaim_figures.h"

namespace cellar::engine {

struct TabletFigures : ReclaimFigures {
  TabletDescriptor tablet;
  uint64_t bytes = 0;            // about: on disk within its rows, and what was written since
  uint64_t unflushed_bytes = 0;  // part of `bytes`: keys and values that are only in memory
  uint64_t zstd_bytes = 0;       // part of the bytes on disk: of tables packed with Zstandard
  uint64_t tables = 0;           // on disk
  uint64_t runs = 0;             // the most that one read visits
  Compaction compaction = Compaction::tiered;  // the one in use: never automatic
  uint64_t reads = 0;       // cursors opened, since the tablet was opened on this shard
  uint64_t writes = 0;      // commits accepted, since the tablet was opened on this shard
  uint64_t left_cells = 0;  // dropped by merges and removals, since it was opened on this shard
  uint64_t left_bytes = 0;  // about their bytes on disk
  CommitStamp last_stamp;
  bool has_held_data = false;  // since it was opened it has had a table or a commit
  // A sample of rows recently read or written, oldest first; a row may occur several times.
  std::vector<std::string> sampled_rows;
};

}  // namespace cellar::engine
