// ColumnJudge: determines which cells of one column are alive if versions count. It equals the
// reference model of SEMANTICS 3: the column's commits replayed in order on a timeline, where at
// each instant time passes, the commit applies, and what is due is removed, newest version first.
//
// Cells come in key order: newest timestamp first, at one timestamp the latest commit first. That
// order suffices. Whether a cell is due depends on its own age and on its *rank*, the number of
// live versions with newer timestamps; so the death of a cell does not depend on later cells, and
// the replay can proceed version by version instead of instant by instant:
//
//   born   the commit that wrote the cell
//   ends   the earliest of: the first later delete that covers it, the commit that overwrote it,
//          its own expiry
//   due    the first instant in [born, ends) at which as many newer versions are alive as the rule
//          then in force requires at the cell's age then (0: by age alone)
//   died   the earlier of the two; [born, died) is added to the timeline for later versions
//
// Only intervals are stored: the newest cells are answered before older ones are read.
//
// Example, max_versions 1: cell 5 written at instant 10 and deleted at 30, cell 4 written at 20,
// cell 3 at 40. Cell 5 lived [10, 30). Cell 4 met it at 20 and died at birth. Cell 3 met none.
//
// The fast path applies under a single era while no cell was deleted. The rank of a cell is then
// the number of earlier cells alive now, in two cases:
//   - no cell so far has its own expiry. The live cells are a prefix of the versions: a cell that
//     is out stays out, and so do all older ones, because thresholds decrease with age and ranks
//     only grow. This is "newest N by timestamp, then age".
//   - some have, and every cell so far is alive. No cell has died, so as many are alive now as ever
//     were, and thresholds only decrease: a cell that is not due now never was.
// The judge counts, and remembers stamp and timestamp of each cell (24 bytes); when neither case
// holds it adds the remembered cells to the timeline and continues exactly. When as many
// are alive as any cell may have before it (is_full()), nothing more is remembered or replayed:
// all later cells are out. A cell costs one comparison on the fast path and O(log n) on the exact
// one, for each age at which an era's rule has another threshold; deletes cost O(log n) each.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/model/key.h"
#include "engine/retention/cell_state.h"
#include "engine/retention/delete_sweep.h"
#include "engine/retention/family_retention.h"
#include "engine/retention/timeline.h"

namespace cellar::engine {

class ColumnJudge {
 public:
  struct Cell {
    int64_t timestamp_us;
    CommitStamp born;
    int64_t expire_at_us;  // kNoExpiry: none
  };

  // Starts a column as of `now_us`. All arguments must stay valid until the next begin(); the
  // deletes need not be complete before the first cell. `exact` disables the fast path, so that
  // died() is known.
  void begin(const FamilyRetention& family, int64_t now_us, bool exact,
             const DeleteSweep::Whole& whole, const std::vector<DeleteSweep::Range>& of_column);

  // `deleted`: a later delete covers the cell. Returns visible, overwritten, deleted, expired or
  // ruled_out. REQUIRES: key order.
  CellState judge(const Cell& cell, bool deleted) {
    if (exact_ || deleted || alive_ >= threshold(cell) || last_timestamp_us_ == cell.timestamp_us)
      return judge_slowly(cell, deleted);
    expiring_ |= cell.expire_at_us != kNoExpiry;
    last_timestamp_us_ = cell.timestamp_us;
    seen_.push_back(cell);
    rank_ = alive_++;
    return CellState::visible;
  }

  // When the last cell died; kNever: it is alive now. REQUIRES: exact().
  Instant died() const { return died_; }
  bool exact() const { return exact_; }
  // Number of newer versions alive now, for the last cell.
  uint64_t rank() const { return rank_; }
  // Number of newer versions alive at an instant at which that cell was not. REQUIRES: exact().
  uint64_t newer_at(Instant instant) const { return timeline_.count_at(instant); }
  // No later cell can be alive: there are more newer versions than the rule permits at any age.
  bool is_full() const { return alive_ >= young_rank_; }
  // Cost of all columns on the exact path: Timeline::steps().
  uint64_t steps() const { return timeline_.steps(); }

 private:
  // On the fast path: with this many newer cells alive now the cell is out, or needs a replay.
  uint64_t threshold(const Cell& cell) const {
    if (cell.expire_at_us != kNoExpiry)
      return all_alive_ && now_us_ <= cell.expire_at_us ? young_rank_ : 0;
    return by_age_ ? family_->rule().rank_at(now_us_ - cell.timestamp_us) : young_rank_;
  }
  CellState judge_slowly(const Cell& cell, bool deleted);
  CellState replay(const Cell& cell);
  void go_exact();
  Instant first_due(const Cell& cell, Instant to) const;

  const FamilyRetention* family_ = nullptr;
  int64_t now_us_ = 0;
  Instant end_ = 0;  // the first instant after now
  DeleteSweep::Whole whole_;
  const std::vector<DeleteSweep::Range>* of_column_ = nullptr;

  uint64_t young_rank_ = kNoRank;  // of the present rule
  bool by_age_ = false;            // the rule has steps
  bool all_alive_ = true;          // every cell so far, on the fast path
  bool expiring_ = false;          // one of them has its own expiry
  bool exact_ = false;
  bool wants_deaths_ = false;
  bool started_ = false;            // exact: sweep and timeline are set up for this column
  int64_t last_timestamp_us_ = -1;  // of the previous cell; -1: none
  bool has_last_ = false;           // exact: there is a previous cell,
  Cell last_{};                     // which is this one
  uint64_t alive_ = 0;
  uint64_t rank_ = 0;
  Instant died_ = kNever;
  std::vector<Cell> seen_;  // on the fast path
  Timeline timeline_;
  DeleteSweep sweep_;
};

}  // namespace cellar::engine
