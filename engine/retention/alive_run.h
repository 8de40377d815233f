// AliveRun: the newest versions of one column while each of them is alive, which is what most
// columns are. It answers for ColumnJudge (column_judge.h) where its fast path would say visible,
// and costs a column one store to begin and a version two comparisons; the first version that it
// does not answer for is the judge's, and what was noted until then is handed over to it.
//
// A version is alive when fewer newer ones are than the rule asks for at an age at which nothing
// is due, it is no older than that age, or has an expiry that lies ahead, no delete covers it, and
// all newer ones are alive: nobody has ever died, so as many are alive now as ever were, and
// thresholds only fall with age.
//
// REQUIRES throughout: what ColumnJudge requires.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>

#include "engine/retention/column_judge.h"

namespace cellar::engine {

class AliveRun {
 public:
  static constexpr uint64_t kMost = 16;

  AliveRun() = default;
  AliveRun(const AliveRun&) = delete;
  AliveRun& operator=(const AliveRun&) = delete;

  // As of `now_us`. `used` false: it answers for nothing, as where histories have eras.
  void begin_family(const FamilyRetention& family, int64_t now_us, bool used) {
    const StepRule& rule = family.rule();
    const uint64_t most = used && family.single() ? rule.young_rank() : 0;
    family_end_ = cells_.data() + std::min(most, kMost);
    full_at_ = used && family.single() && most <= kMost ? family_end_ : nullptr;
    now_us_ = now_us;
    // Both are at least 0.
    young_from_us_ = rule.steps().empty() ? 0 : now_us - rule.steps().front().older_than_us;
    begin_column();
  }
  void begin_column() {
    next_ = cells_.data();
    end_ = family_end_;
  }

  // True: the cell is visible. False: ask ColumnJudge, from here to the column's end.
  // REQUIRES: the timestamp is not that of the cell before.
  bool take(int64_t timestamp_us, CommitStamp born, int64_t expire_at_us) {
    const bool young =
        expire_at_us == kNoExpiry ? timestamp_us >= young_from_us_ : now_us_ <= expire_at_us;
    if (next_ == end_ || !young) return false;
    *next_++ = {timestamp_us, born, expire_at_us};
    return true;
  }
  // No cell that is still to come can be alive: ColumnJudge::is_full() of those taken.
  bool is_full() const { return next_ == full_at_; }
  // Those taken; no other will be.
  std::span<const ColumnJudge::Cell> close() {
    end_ = next_;
    return {cells_.data(), static_cast<size_t>(next_ - cells_.data())};
  }

 private:
  using Cell = ColumnJudge::Cell;

  Cell* next_ = nullptr;
  Cell* end_ = nullptr;
  Cell* family_end_ = nullptr;
  Cell* full_at_ = nullptr;  // null: never
  int64_t young_from_us_ = 0;
  int64_t now_us_ = 0;
  std::array<Cell, kMost> cells_;
};

}  // namespace cellar::engine
