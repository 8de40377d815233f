// Explainer: computes for each cell when it dies if nothing more is written, and why; on request
// also returns dead cells with the time of their death (SEMANTICS 6).
//
// When: the row's entries are judged again as of the end of time, by a judge that tracks the time
// of death. It treats every family as one that counts versions, so all are queried in the same way.
// Why: the node of the rule that was due at that instant. Cells hidden by a rule that may still be
// undone: judged a third time, by the rules after such an undo; a cell that lives then is hidden,
// not dead.
//
// Example, intersection(max_age 2 d, max_versions 1), versions of 3 h and 1 h ago: the newer one
// never dies, the older one in 45 h by clause 0, whose last part to become due is the age.
//
// Not shown: values replaced at their own timestamp, values removed by merges, and cells of dropped
// families. Of dead cells it shows those still stored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/model/schema.h"
#include "engine/read/cell_judge.h"
#include "engine/read/cell_watch.h"

namespace cellar::engine {

class Explainer final : public CellWatch {
 public:
  // `schema` is the cursor's and must outlive this. `now_us`: the time for which open undo windows
  // are determined.
  Explainer(const TableSchema& schema, bool include_dead, int64_t now_us);

  void attach(const RangeDeletes& ranges) override;
  void begin_row(Bytes key, CommitStamp at, int64_t now_us) override;
  bool entry(Bytes key, Bytes value, CellState fate, CellNote& note) override;
  bool gives_dead() const override { return include_dead_; }

 private:
  bool replaced(CellState fate);
  void explain(CellState end, CellNote& note);
  void name_clause(CellNote& note);

  const TableSchema& schema_;
  const bool include_dead_;
  const TableRetention rules_;
  std::optional<TableSchema> undone_;  // set if a change may be undone
  std::optional<TableRetention> undone_rules_;
  std::optional<CellJudge> judge_;  // judges as of the end of time
  std::optional<CellJudge> undone_judge_;
  uint64_t column_ = 0;  // column and timestamp of the last cell visible to the reader
  int64_t timestamp_us_ = 0;
  bool has_last_ = false;
};

}  // namespace cellar::engine
