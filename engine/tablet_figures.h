// TabletFigures: what is known of one tablet at a moment, for whoever decides about splitting,
// moving and merging, and for operators. A value.
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
  uint64_t bytes = 0;            // on disk within its rows, about, and what was written since
  uint64_t unflushed_bytes = 0;  // of these, keys and values in memory alone
  uint64_t zstd_bytes = 0;       // of those on disk, of tables that Zstandard has packed
  uint64_t tables = 0;           // on disk
  uint64_t runs = 0;             // which a read looks into, at most
  Compaction compaction = Compaction::tiered;  // at work: never automatic
  uint64_t reads = 0;   // cursors opened, since the tablet was opened on this shard
  uint64_t writes = 0;  // commits taken, likewise
  CommitStamp last_stamp;
  bool has_held_data = false;  // it has, or had since it was opened, a table or a commit
  // Rows lately read or written, a sample of them; a row may come several times, oldest first.
  std::vector<std::string> sampled_rows;
};

}  // namespace cellar::engine
