// PreviewJudge: what another rule would kill (SEMANTICS 5), by the judge that reads and merges go
// by: two of them are fed the same entries, one with the table's rules, one with the rules as they
// would be after the change. A cell that only the first one shows would be killed.
//
// Example: versions 3 to 1 over a column of five: the first shows three, the second one, two cells
// would be killed.
#pragma once

#include <cstdint>

#include "engine/model/schema.h"
#include "engine/read/fate.h"
#include "engine/read/range_deletes.h"

namespace cellar::engine {

struct PreviewCount {
  uint64_t cells = 0;       // that the new rule would kill
  uint64_t bytes = 0;       // of their keys and values
  uint64_t rows = 0;        // that would lose at least one cell
  uint64_t cells_seen = 0;  // that are visible now
};

class PreviewJudge {
 public:
  // `before` and `after` are one table's schema, before and after change_rule(); `ranges` is built;
  // all outlive this.
  PreviewJudge(const TableSchema& before, const TableSchema& after, const RangeDeletes& ranges);

  // The merged entries of whole rows, in key order, as of `at` and `now_us`: as FateJudge takes
  // them. DATA_LOSS for an entry that is malformed. True when the new rule would kill the cell.
  Result<bool> entry(Bytes key, Bytes value, CommitStamp at, int64_t now_us);
  const PreviewCount& count() const { return count_; }
  // Of the cell that entry() answered for last.
  const FateJudge& judge() const { return before_; }

 private:
  const TableRetention rules_before_;
  const TableRetention rules_after_;
  FateJudge before_;
  FateJudge after_;
  bool row_loses_ = false;
  PreviewCount count_;
};

}  // namespace cellar::engine
