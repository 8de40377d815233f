// MergeCut: what a merge (a flush, a compaction) may leave out so that no answer changes, now or
// ever. The judge says what is dead as far as the merge's inputs show; this says what follows.
//
// Names: M the inputs; O what is older and not among them (none: the merge is at the *bottom*); W
// what is newer, memtables included. Every commit of W to a row is later than every commit of M to
// it, and H, the *horizon*, is an instant before the first commit of W and before every commit to
// come. `now` is trusted time less the margin that SEMANTICS 3 sets before removal by age.
//
// Families that do not count versions. A cell's fate depends on nothing but itself, its deletes and
// what overwrote it.
//   overwritten, deleted         left out: what did it is in M and stays while O exists
//   past its age or expiry       left out, unless O may hold a living cell at that timestamp, which
//                                would come back: then its *husk* stays (model/key.h)
//
// Families that count. A dead version counted against others while it lived, so leaving it out may
// revive what it pushed out. Three cases, and otherwise the cell stays:
//
//   1. Clean columns: M holds no delete that reaches the column, no cell anywhere in the tablet has
//      an expiry of its own, and the rule has a single era. Then the living are a prefix of the
//      versions at every instant of M. A cell that is out as of min(now, H) stays out in the whole
//      history, for O can only add newer versions, and W comes later, when it is dead already. All
//      older versions, O's included, are out too, by the same newer versions, which stay: nothing
//      revives. So what is overwritten or out is left out, in any merge.
//   2. The bottom, any column: a cut through time. Every cell that died at or before the cut, by
//      whatever cause, is left out; every other one stays, with the deletes behind the cut. What
//      stays was alive at the cut: judged again over what is left, it is alive before the cut
//      (fewer versions count), and behind it nothing has changed (who is left out counted there no
//      more). The cut lies before H, because under an intersection a later delete may save a cell
//      that looks due, and before the first change of a rule that may be undone.
//   3. Neither: a cell that is deleted, overwritten or past its own expiry leaves a husk, which
//      counts as the cell did. All others stay, and so do deletes that newer ones cover: they say
//      since when a version was dead.
//
// The table that a bottom merge writes is *settled* up to the cut: each of its cells that was
// committed by then was alive then. Rules that were replaced before need not be remembered for it.
#pragma once

#include <cstdint>

#include "engine/model/schema.h"
#include "engine/retention/family_retention.h"
#include "engine/retention/fate.h"

namespace cellar::engine {

inline constexpr int64_t kDefaultRemovalMarginUs = 300'000'000;  // 5 min

struct MergeFacts {
  int64_t now_us = 0;  // trusted, not before any commit of the inputs
  int64_t margin_us = kDefaultRemovalMarginUs;
  uint64_t schema_version = 0;  // by whose rules the merge judges
  bool bottom = false;
  // At or below every commit of W, W's deletes included; kMaxStamp: W is empty.
  CommitStamp newer_from = kMaxStamp;
  // A cell of M, O or W may have an expiry of its own.
  bool any_expiry = true;
  // Of O's cells; what is not known is as wide as can be.
  bool older_expiry = true;
  int64_t older_min_us = 0;
  int64_t older_max_us = INT64_MAX;
};

class MergeCut {
 public:
  enum class Verdict : uint8_t { keep, husk, drop };

  // `settled`: of all inputs and everything else in the tablet.
  MergeCut(const TableSchema& schema, CommitStamp settled, const MergeFacts& facts);

  const TableRetention& retention() const { return retention_; }  // to judge by
  int64_t now_us() const { return now_us_; }  // as of which, where versions do not count
  int64_t counted_now_us() const { return counted_us_; }  // and where they do
  // The fast path does not tell when a cell died: not to be taken where that is needed.
  bool exact() const { return facts_.any_expiry || retention_.remembers(); }

  // A dead or living cell of a family that does not count.
  Verdict single_cell(Fate fate, int64_t timestamp_us, bool has_expiry) const;
  // Of one that does; `clean`: judged on the fast path, no delete reaches the column; else `died`.
  Verdict counted_cell(const FamilyRetention& family, Fate fate, bool clean, Instant died) const;
  // Row, family, column and range deletes; `redundant`: newer ones cover it.
  bool keeps_delete(CommitStamp stamp, bool redundant) const;
  // What is remembered of a token is covered by nothing: it stays until it counts no more.
  bool keeps_token(int64_t until_us) const { return until_us >= now_us_; }
  // Up to here the outputs are settled; 0 unless at the bottom.
  CommitStamp settled() const { return CommitStamp{facts_.bottom ? settled_ : 0}; }

 private:
  Instant cut(const FamilyRetention& family) const;

  MergeFacts facts_;
  int64_t now_us_;
  TableRetention retention_;
  int64_t counted_us_;
  Instant cut_;      // before what is still undecided in any family
  Instant settled_;  // and before what may be undone in any
};

}  // namespace cellar::engine
