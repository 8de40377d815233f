// MergeRecord: one ended merge of a shard, or one removal of dead tables, for operators. A value.
#pragma once

#include <cstdint>

#include "engine/model/types.h"

namespace cellar::engine {

// Numbers are in the API of HTTP by name (net/http/handlers_merges.cc).
enum class MergeReason : uint8_t {
  runs = 0,        // reads would visit too many runs (compaction/picker.h, time_windows.h)
  dead_table = 1,  // a table was rewritten without what had died in it
  dead_runs = 2,   // runs were merged to drop what newer data or an older rule had killed
  removal = 3,     // wholly dead tables were removed unread
  request = 4,     // a client or a merge of tablets asked for it
  index = 5,       // a table was rewritten for indexes that were created or dropped
};
inline constexpr size_t kMergeReasons = 6;

struct MergeRecord {
  TabletId tablet;
  TableId table;
  MergeReason reason = MergeReason::runs;
  int64_t ended_us = 0;  // trusted time
  int64_t took_us = 0;   // with pauses
  uint64_t runs = 0;     // inputs
  uint64_t tables_in = 0;
  uint64_t tables_out = 0;
  uint64_t bytes_in = 0;
  uint64_t bytes_out = 0;
  uint64_t left_cells = 0;  // in no output
  uint64_t left_bytes = 0;  // about, of the inputs: of what is in no output
};

}  // namespace cellar::engine
