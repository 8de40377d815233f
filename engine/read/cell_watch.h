// CellWatch: an observer of a cursor's entries. The cursor determines the state of each entry; the
// watch also sees the entry, decides whether it is passed to the sink, and adds its note.
// Explanations, dead cells and previews thus use the ordinary read path: slices, loads, filters.
//
// Belongs to one cursor on one shard.
#pragma once

#include <cstdint>

#include "engine/model/read_spec.h"
#include "engine/read/range_deletes.h"
#include "engine/retention/cell_state.h"
#include "io/base/bytes.h"

namespace cellar::engine {

class CellWatch {
 public:
  virtual ~CellWatch() = default;

  // Called first. `ranges` outlives this and may be filled later, but not inside a row.
  virtual void attach(const RangeDeletes& ranges) = 0;
  // After the cursor's CellJudge::begin_row has succeeded with the same arguments.
  virtual void begin_row(Bytes key, CommitStamp at, int64_t now_us) = 0;
  // A well-formed entry of that row. True: it is a cell to be passed on, with `note` except for its
  // own expiry.
  virtual bool entry(Bytes key, Bytes value, CellState fate, CellNote& note) = 0;
  // Whether dead cells are passed on, so that columns must be read to their end.
  virtual bool gives_dead() const = 0;
  // Rows are judged at this time or later.
  virtual int64_t not_before_us() const { return 0; }
};

}  // namespace cellar::engine
