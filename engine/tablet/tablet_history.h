// TabletHistory: what a tablet has served and published since it was opened.
#pragma once

#include <cstdint>

#include "engine/merge_record.h"
#include "engine/model/types.h"
#include "engine/tablet/row_samples.h"

namespace cellar::engine {

struct TabletHistory {
  uint64_t reads = 0;
  uint64_t writes = 0;
  RowSamples samples;  // of the rows in use
  // What has left its tables, in no output of a merge; bytes about, on disk.
  uint64_t left_cells = 0;
  uint64_t left_bytes = 0;
  uint64_t publications = 0;              // of versions
  CommitStamp last_commit;                // appended
  int64_t newest_flushed_us = INT64_MIN;  // the greatest timestamp flushed; INT64_MIN: none

  void departed(const MergeRecord& merge) {
    left_cells += merge.left_cells;
    left_bytes += merge.left_bytes;
  }
};

// Cells of families that the schema does not have any more.
struct Orphans {
  bool may_remain = false;  // a full merge is useful even for one run without deletes
  int64_t since_us = 0;     // trusted time since when the families are known to be dropped
};

}  // namespace cellar::engine
