// PreviewEstimate: what another rule would kill, by the bounds and counts of files alone. Nothing
// is read, so it costs microseconds; what it cannot know it leaves between a least and a most.
//
// What it can say of a source (a table, or a memtable) of a tablet:
//   nothing dies   every cell of it is younger than the age at which the new rule first condemns
//                  any; or none of it that the family could have is visible now
//   all of it dies every cell is older than the age that is fatal under the new rule, and surely
//                  visible now: the table has one family, no cell an expiry of its own, nothing in
//                  the tablet a delete, no other source such timestamps, and the rule in force is
//                  by age alone
//   between        the guess spreads the cells evenly over the times between the oldest and the
//                  newest, and evenly over the families; where versions are counted nothing is
//                  known of columns, and it takes the worst, that all the versions go
//
// Example, max_age 10 d to 5 d, files of [1 d, 4 d], [4 d, 6 d] and [7 d, 9 d] ago with 100 cells
// each: at least 100, at most 200, and 150 is the guess.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/iter/time_bounds.h"
#include "engine/model/schema.h"
#include "engine/preview_rule.h"
#include "engine/version/version.h"

namespace cellar::engine {

// A table as one tablet has it, or a memtable.
struct SourceFacts {
  uint64_t cells = 0;    // of the whole table; of a memtable, its entries
  uint64_t rows = 0;     // likewise
  uint64_t bytes = 0;    // keys and values, before any compression
  double share = 1;      // of these, what is the tablet's, about
  bool counted = false;  // they are counts of the tablet's cells, none of which is overwritten
  CommitStamp min_stamp;
  TimeBounds bounds;
};

struct TabletContents {
  std::vector<SourceFacts> sources;
  bool deletes = false;  // some source has a delete, of whatever kind
};

TabletContents contents_of(const Version& version);

// Rows of all the tablets, by their sources.
uint64_t rows_about(const std::vector<TabletContents>& tablets);

// `before` and `after`: the table's schema without and with the change of `family`'s rule.
// Answers count, least and most of a report; cells_seen and rows_seen are 0.
PreviewReport estimate_preview(const TableSchema& before, const TableSchema& after, Bytes family,
                               const std::vector<TabletContents>& tablets, int64_t now_us);

}  // namespace cellar::engine
