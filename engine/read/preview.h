// PreviewWatch: determines what another rule would kill (SEMANTICS 5), with the judge that reads
// and merges use. It watches an ordinary read and judges the same entries by the rules after the
// change; a cell that the read sees and that they kill counts. Both use the same time, so
// that cells killed by time alone are not counted.
//
// Example: a rule changed from 3 versions to 1, over a column of five: the read sees three, the new
// rule one, so two cells would be killed.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/model/schema.h"
#include "engine/read/cell_judge.h"
#include "engine/read/cell_watch.h"

namespace cellar::engine {

struct PreviewCount {
  uint64_t cells = 0;       // killed by the new rule
  uint64_t bytes = 0;       // of their keys and values
  uint64_t rows = 0;        // rows that would lose at least one cell
  uint64_t cells_seen = 0;  // visible now
  uint64_t rows_seen = 0;   // rows examined

  PreviewCount& operator+=(const PreviewCount& other);
  bool operator==(const PreviewCount&) const = default;
};

// Passes on the cells that would be killed.
class PreviewWatch final : public CellWatch {
 public:
  // `after`: the cursor's schema after change_rule(); must outlive this.
  explicit PreviewWatch(const TableSchema& after);

  void attach(const RangeDeletes& ranges) override;
  void begin_row(Bytes key, CommitStamp at, int64_t now_us) override;
  bool entry(Bytes key, Bytes value, CellState fate, CellNote& note) override;
  bool gives_dead() const override { return false; }
  // The change has its own time.
  int64_t not_before_us() const override { return rules_.not_before_us(); }

  const PreviewCount& count() const { return count_; }

 private:
  const TableSchema& after_;
  const TableRetention rules_;
  std::optional<CellJudge> judge_;
  bool row_loses_ = false;
  PreviewCount count_;
};

}  // namespace cellar::engine
