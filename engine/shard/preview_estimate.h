// PreviewEstimate: estimates what another rule would kill from the bounds and counts of files
// alone. It reads nothing and takes microseconds; uncertainty is expressed by a lower and an upper
// bound.
//
// Cases for a source (a table or a memtable) of a tablet:
//   nothing dies   every cell is younger than the age at which the new rule first hides any, or
//                  none that the family could have is visible now
//   all of it dies every cell is older than the age that is fatal under the new rule, and certainly
//                  visible now: the table has one family, no cell its own expiry, nothing in the
//                  tablet a delete, no other source such timestamps, and the present rule is by age
//                  alone
//   between        the estimate distributes the cells evenly over the times between the oldest and
//                  the newest, and evenly over the families; if versions are counted columns are
//                  unknown, and it assumes the worst, that all the versions go
//
// Example, max_age 10 d to 5 d, files of [1 d, 4 d], [4 d, 6 d] and [7 d, 9 d] ago with 100 cells
// each: at least 100, at most 200, and the estimate is 150.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/iter/time_bounds.h"
#include "engine/model/schema.h"
#include "engine/preview_rule.h"
#include "engine/version/version.h"

namespace cellar::engine {

// A table in one tablet, or a memtable.
struct SourceFacts {
  uint64_t cells = 0;    // of the whole table; for a memtable, its entries
  uint64_t rows = 0;     // of the whole table; for a memtable, its entries
  uint64_t bytes = 0;    // keys and values, uncompressed
  double share = 1;      // approximate part of these that belongs to the tablet
  bool counted = false;  // exact counts of the tablet's cells, none of which is overwritten
  CommitStamp min_stamp;
  TimeBounds bounds;
};

struct TabletContents {
  std::vector<SourceFacts> sources;
  bool deletes = false;  // some source has a delete of any kind
};

TabletContents contents_of(const Version& version);

// Approximate rows of all tablets, from their sources.
uint64_t rows_about(const std::vector<TabletContents>& tablets);

// `before` and `after`: the table's schema without and with the change of `family`'s rule. Fills
// count, least and most of a report; cells_seen and rows_seen are 0.
PreviewReport estimate_preview(const TableSchema& before, const TableSchema& after, Bytes family,
                               const std::vector<TabletContents>& tablets, int64_t now_us);

}  // namespace cellar::engine
