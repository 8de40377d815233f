// AliveRun: the newest versions of one column while all of them are alive, the common case. It
// replaces ColumnJudge (column_judge.h) where that one's fast path would return visible; it costs
// one store to start a column and two comparisons per version. The first version that it cannot
// decide goes to the judge, which receives what was recorded until then.
//
// A version is alive if fewer versions are newer than the rule permits at an age at which nothing
// is due, if it is not older than that age, or has an expiry in the future, if no delete covers it,
// and if all newer ones are alive: no version has died, so as many are alive now as ever were, and
// thresholds only decrease with age.
//
// REQUIRES: as ColumnJudge.
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

  // As of `now_us`. `used` false: it decides nothing, as for histories with eras.
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

  // True: the cell is visible. False: ask ColumnJudge, from here to the end of the column.
  // REQUIRES: the timestamp differs from the previous cell's.
  bool take(int64_t timestamp_us, CommitStamp born, int64_t expire_at_us) {
    const bool young =
        expire_at_us == kNoExpiry ? timestamp_us >= young_from_us_ : now_us_ <= expire_at_us;
    if (next_ == end_ || !young) return false;
    *next_++ = {timestamp_us, born, expire_at_us};
    return true;
  }
  // No later cell can be alive: ColumnJudge::is_full() for the recorded cells.
  bool is_full() const { return next_ == full_at_; }
  // The recorded cells; no more follow.
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
