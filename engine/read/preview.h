// PreviewWatch: what another rule would kill (SEMANTICS 5), by the judge that reads and merges go
// by. It watches a read of the table as it is, and judges the same entries by the rules as they
// would be after the change; a cell that the read sees and they condemn would be killed. Both are
// asked as of the same moment, so that nothing is counted that only time has killed.
//
// Example: versions 3 to 1 over a column of five: the read sees three, the new rule one, two cells
// would be killed.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/model/schema.h"
#include "engine/read/cell_watch.h"
#include "engine/read/fate.h"

namespace cellar::engine {

struct PreviewCount {
  uint64_t cells = 0;       // that the new rule would kill
  uint64_t bytes = 0;       // of their keys and values
  uint64_t rows = 0;        // that would lose at least one cell
  uint64_t cells_seen = 0;  // that are visible now
  uint64_t rows_seen = 0;   // that were looked at

  PreviewCount& operator+=(const PreviewCount& other);
  bool operator==(const PreviewCount&) const = default;
};

// Gives the cells that would be killed.
class PreviewWatch final : public CellWatch {
 public:
  // `after`: the schema of the cursor, as change_rule() would leave it; outlives this.
  explicit PreviewWatch(const TableSchema& after);

  void attach(const RangeDeletes& ranges) override;
  void begin_row(Bytes key, CommitStamp at, int64_t now_us) override;
  bool entry(Bytes key, Bytes value, Fate fate, CellNote& note) override;
  bool gives_dead() const override { return false; }
  // The change is made at a moment of its own.
  int64_t not_before_us() const override { return rules_.not_before_us(); }

  const PreviewCount& count() const { return count_; }

 private:
  const TableSchema& after_;
  const TableRetention rules_;
  std::optional<FateJudge> judge_;
  bool row_loses_ = false;
  PreviewCount count_;
};

}  // namespace cellar::engine
