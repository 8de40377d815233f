// DropPolicy: what a merge (a flush, a compaction) may drop without changing any present or future
// answer. The judge determines what is dead according to the merge's inputs; this class draws the
// consequences.
//
// Names: M is the inputs; O is older data not among them (none: the merge is at the *bottom*); W is
// newer data, including memtables. Every commit of W to a row is later than every commit of M to
// it, and H, the *horizon*, is an instant before the first commit of W and before every future
// commit. `now` is trusted time minus the margin that SEMANTICS 3 requires before removal by age.
//
// Families that do not count versions. The death of a cell depends only on itself, its deletes and
// what overwrote it.
//   overwritten, deleted         dropped: the cause is in M and stays while O exists
//   past its age or expiry       dropped, unless O may have a live cell at that timestamp, which
//                                would reappear: then its *tombstone* stays (model/key.h)
//
// Families that count. A dead version counted against others while it lived, so dropping it may
// revive what it pushed out. There are three cases; otherwise the cell stays:
//
//   1. Clean columns: M has no delete that covers the column, no cell in the tablet has its own
//      expiry, and the rule has a single era. Then the live cells are a prefix of the versions at
//      every instant of M. A cell that is out as of min(now, H) stays out in the whole history,
//      because O can only add newer versions, and W comes later, when it is already dead. All older
//      versions, including those of O, are out too, by the same newer versions, which stay: nothing
//      revives. So overwritten cells and cells that are out are dropped, in any merge.
//   2. The bottom, any column: a cut through time. Every cell that died at or before the cut, of
//      any cause, is dropped; all others stay, with the deletes after the cut. What stays was alive
//      at the cut: judged again over the remaining cells, it is alive before the cut (fewer
//      versions count), and after it nothing changes (dropped cells no longer counted there). The
//      cut lies before H, because under an intersection a later delete may save a cell that looks
//      due, and before the first change of a rule that may be undone.
//   3. Otherwise: a cell that is deleted, overwritten or past its own expiry leaves a tombstone
//      that counts as the cell did. All others stay, and so do deletes that newer ones cover: they
//      record since when a version has been dead.
//
// The cut is the *gc watermark* of the table that a bottom merge writes: each of its cells
// committed by then was alive then. Rules replaced earlier need not be remembered for it.
#pragma once

#include <cstdint>

#include "engine/model/schema.h"
#include "engine/retention/cell_state.h"
#include "engine/retention/family_retention.h"

namespace cellar::engine {

inline constexpr int64_t kDefaultRemovalMarginUs = 300'000'000;  // 5 min

struct MergeFacts {
  int64_t now_us = 0;  // trusted time, not before any commit of the inputs
  int64_t margin_us = kDefaultRemovalMarginUs;
  uint64_t schema_version = 0;  // version of the rules used by the merge
  bool bottom = false;
  // At or below every commit of W, including W's deletes; kMaxStamp: W is empty.
  CommitStamp newer_from = kMaxStamp;
  // A cell of M, O or W may have its own expiry.
  bool any_expiry = true;
  // Of O's cells; unknown values are as wide as possible.
  bool older_expiry = true;
  int64_t older_min_us = 0;
  int64_t older_max_us = INT64_MAX;
};

class DropPolicy {
 public:
  enum class Verdict : uint8_t { keep, tombstone, drop };

  // `gc_watermark`: of all inputs and everything else in the tablet.
  DropPolicy(const TableSchema& schema, CommitStamp gc_watermark, const MergeFacts& facts);

  const TableRetention& retention() const { return retention_; }  // rules for the judge
  int64_t now_us() const { return now_us_; }  // time for families that do not count versions
  int64_t counted_now_us() const { return counted_us_; }  // time for families that count versions
  // The fast path does not determine when a cell died and must not be used where that is needed.
  bool exact() const { return facts_.any_expiry || retention_.remembers(); }

  // A cell of a family that does not count versions, dead or alive.
  Verdict single_cell(CellState fate, int64_t timestamp_us, bool has_expiry) const;
  // A cell of one that does; `clean`: judged on the fast path, no delete covers the column;
  // otherwise see `died`.
  Verdict counted_cell(const FamilyRetention& family, CellState fate, bool clean,
                       Instant died) const;
  // Row, family, column and range deletes; `redundant`: covered by newer ones.
  bool keeps_delete(CommitStamp stamp, bool redundant) const;
  // Nothing covers a token's record: it stays as long as it counts.
  bool keeps_token(int64_t until_us) const { return until_us >= now_us_; }
  // Of the outputs; 0 unless at the bottom.
  CommitStamp gc_watermark() const { return CommitStamp{facts_.bottom ? gc_watermark_ : 0}; }

 private:
  Instant cut(const FamilyRetention& family) const;

  MergeFacts facts_;
  int64_t now_us_;
  TableRetention retention_;
  int64_t counted_us_;
  Instant cut_;           // before everything still undecided in any family
  Instant gc_watermark_;  // also before any change that may be undone
};

}  // namespace cellar::engine
