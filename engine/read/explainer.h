// Explainer: beside each cell, when it dies if nothing more is written and of what; and where dead
// cells are asked for, those too, with when they died (SEMANTICS 6).
//
// When: the row's entries are judged once more, as of the end of time, by the judge that knows
// since when a cell is dead. To it every family counts versions, so that it is asked in one way
// about all. Why: the node of the rule that was due at that instant. What a rule hides that may
// still be undone: judged a third time, by the rules as they would be if that were done now; what
// then lives is hidden, not dead.
//
// Example, intersection(max_age 2 d, max_versions 1), versions of 3 h and 1 h ago: the newer one
// never dies, the older one in 45 h by clause 0, whose last part to come true is the age.
//
// What it does not show: values that were replaced at their own timestamp, what merges have taken
// the value of, and cells of families that are gone. Of what is dead it shows what is still there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/model/schema.h"
#include "engine/read/cell_watch.h"
#include "engine/read/fate.h"

namespace cellar::engine {

class Explainer final : public CellWatch {
 public:
  // `schema` is the cursor's and outlives this. `now_us`: as of which changes of rules may still be
  // undone.
  Explainer(const TableSchema& schema, bool include_dead, int64_t now_us);

  void attach(const RangeDeletes& ranges) override;
  void begin_row(Bytes key, CommitStamp at, int64_t now_us) override;
  bool entry(Bytes key, Bytes value, Fate fate, CellNote& note) override;
  bool gives_dead() const override { return include_dead_; }

 private:
  bool replaced(Fate fate);
  void explain(Fate end, CellNote& note);
  void name_clause(CellNote& note);

  const TableSchema& schema_;
  const bool include_dead_;
  const TableRetention rules_;
  std::optional<TableSchema> undone_;  // where something may be
  std::optional<TableRetention> undone_rules_;
  std::optional<FateJudge> judge_;  // as of the end of time
  std::optional<FateJudge> undone_judge_;
  uint64_t column_ = 0;  // of the last cell that the reader could see, and its timestamp
  int64_t timestamp_us_ = 0;
  bool has_last_ = false;
};

}  // namespace cellar::engine
