// ReclaimForecast: a tablet's next reclaiming and its figures, cached until its tables, its rules
// or enough time have changed them, so that a look at a shard of 10,000 tablets does not visit all
// of their tables. ReclaimState: all that is kept with a tablet between two looks.
//
// Invariant: a forecast is later than a fresh one by at most reclaim_within / kMostAge, or
// kLeastAgeUs if that is more.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/jobs/compact.h"
#include "engine/reclaim_figures.h"
#include "engine/retention/death_curve.h"
#include "engine/tablet/tablet.h"
#include "io/base/result.h"

namespace cellar::engine {

class ReclaimForecast {
 public:
  // A sixteenth of reclaim_within, at least a second.
  static constexpr int64_t kMostAge = 16;
  static constexpr int64_t kLeastAgeUs = 1'000'000;

  // Must be recomputed, which is the expensive part.
  bool is_stale(Tablet& tablet) const;
  // When overdue bytes first exceed, or since when they have exceeded, the slack; INT64_MAX: never
  // without a change.
  int64_t slack_out_us(Tablet& tablet) { return fresh(tablet).slack_out_us_; }
  // When work on that starts: earlier by reclaim_lead_us().
  int64_t slack_due_us(Tablet& tablet);
  // Upper bound of the bytes that this work reads, including memtables.
  double work_bytes(Tablet& tablet) { return fresh(tablet).bytes_ + unflushed_; }
  // When a merge of all runs has work that nothing smaller does: a table is completely dead, or
  // past rules can be forgotten.
  int64_t merge_due_us(Tablet& tablet) { return fresh(tablet).merge_due_us_; }
  // When the next work of either kind starts; INT64_MAX: never without a change.
  int64_t due_us(Tablet& tablet) { return std::min(merge_due_us(tablet), slack_due_us(tablet)); }
  ReclaimFigures figures(Tablet& tablet);

 private:
  ReclaimForecast& fresh(Tablet& tablet);
  void look(Tablet& tablet, int64_t now_us);
  bool is_over(Tablet& tablet, int64_t at_us) const;
  DeathForecast dying(double dead, int64_t now_us) const;
  int64_t find_slack_out_us(Tablet& tablet, int64_t now_us) const;

  bool made_ = false;
  uint64_t publications_ = 0;
  uint64_t schema_version_ = 0;
  int64_t made_us_ = 0;
  DeathCurve deaths_;
  DeathCurve hidden_;
  double bytes_ = 0;
  double entries_ = 0;
  double unflushed_ = 0;
  double unknown_ = 0;
  int64_t file_due_us_ = INT64_MAX;
  int64_t slack_out_us_ = INT64_MAX;
  int64_t merge_due_us_ = INT64_MAX;
};

// The outcome of the last reclaiming of a tablet, and the time of the next. Written by reclaim().
struct ReclaimAttempt {
  static constexpr int64_t kLeastWaitUs = 1'000'000;
  static constexpr int64_t kLeastAgainUs = 100'000;
  // The least time from the start of work to the next attempt; and after a failure or an attempt in
  // vain.
  static constexpr int64_t again_us(int64_t within_us) {
    return std::max(kLeastAgainUs, within_us / 64);
  }
  static constexpr int64_t retry_us(int64_t within_us) {
    return std::max(kLeastWaitUs, within_us / 4);
  }

  int64_t at_us = 0;             // trusted time; 0: none since the tablet was opened
  int64_t not_before_us = 0;     // trusted time of the next attempt
  std::optional<Error> failure;  // of the last attempt
  bool ineffective = false;      // it removed less than was estimated to be dead, or could not
};

// Created at the first look, and destroyed with the tablet.
struct ReclaimState final : TabletAttachment {
  // The longest lead of work, as a part of reclaim_within: with a longer one, cells that died
  // meanwhile would be due again as soon as it is done.
  static constexpr double kMostLead = 0.75;

  ReclaimForecast forecast;
  ReclaimAttempt attempt;
  // The tablet's place in the shard's queue as of the last plan. Written by plan_reclaims().
  ReclaimPlace place;
  int64_t lead_us = 0;  // work starts this long before the slack is used up

  static ReclaimState& of(Tablet& tablet);
};

inline ReclaimForecast& reclaim_forecast(Tablet& tablet) {
  return ReclaimState::of(tablet).forecast;
}
// How much earlier than the slack requires work starts: as the shard's queue determines, and as
// long as a tablet may have to wait after its last turn; ReclaimState::kMostLead at most.
int64_t reclaim_lead_us(Tablet& tablet);
// Approximate stored size of the memtables, which count as live.
double unflushed_bytes(const Tablet& tablet);

}  // namespace cellar::engine
