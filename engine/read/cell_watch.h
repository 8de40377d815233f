// CellWatch: a second look at what a cursor reads. The cursor finds the fate of each entry as ever;
// the watch sees the entry too, says whether it is given to the sink, and what is told of it. So
// explanations, dead cells and previews take the way of every other read: slices, loads, filters.
//
// Of one cursor, on one shard.
#pragma once

#include <cstdint>

#include "engine/model/read_spec.h"
#include "engine/read/range_deletes.h"
#include "engine/retention/fate.h"
#include "io/base/bytes.h"

namespace cellar::engine {

class CellWatch {
 public:
  virtual ~CellWatch() = default;

  // Before anything else. `ranges` outlives this; it may be filled later, but not inside a row.
  virtual void attach(const RangeDeletes& ranges) = 0;
  // As FateJudge::begin_row of the cursor, which has succeeded.
  virtual void begin_row(Bytes key, CommitStamp at, int64_t now_us) = 0;
  // An entry of that row, which is not malformed. True: it is a cell to be given; then `note` is
  // what is told of it, its own expiry apart.
  virtual bool entry(Bytes key, Bytes value, Fate fate, CellNote& note) = 0;
  // It gives cells that are dead, so a column is to be read to its end.
  virtual bool gives_dead() const = 0;
  // Rows are judged as of no earlier time.
  virtual int64_t not_before_us() const { return 0; }
};

}  // namespace cellar::engine
