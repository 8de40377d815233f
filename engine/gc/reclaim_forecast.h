// ReclaimForecast: a tablet's next reclaiming and its figures, cached until its tables, its rules
// or enough time have changed them, so that a look at a shard of 10,000 tablets does not visit all
// of their tables.
//
// Invariant: a forecast is later than a fresh one by at most kMostAge of reclaim_within.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "engine/reclaim_figures.h"
#include "engine/retention/death_curve.h"

namespace cellar::engine {

class Tablet;
struct ReclaimEstimate;

class ReclaimForecast {
 public:
  // A sixteenth of reclaim_within, at least a second.
  static constexpr int64_t kMostAge = 16;
  static constexpr int64_t kLeastAgeUs = 1'000'000;

  // Must be recomputed, which is the expensive part.
  bool is_stale(Tablet& tablet) const;
  // When overdue bytes first exceed the slack; INT64_MAX: never without a change.
  int64_t slack_out_us(Tablet& tablet) { return fresh(tablet).slack_out_us_; }
  // The same, or since when they have exceeded it already; may be in the past.
  int64_t slack_deadline_us(Tablet& tablet) {
    return std::min(slack_out_us(tablet), over_slack_us_);
  }
  // When work on that starts: earlier by reclaim_lead_us().
  int64_t slack_due_us(Tablet& tablet);
  // Upper bound of the bytes that this work reads, including memtables.
  double work_bytes(Tablet& tablet) { return fresh(tablet).bytes_ + unflushed_; }
  // When a merge of all runs has work that nothing smaller does: a table is completely dead, or
  // past rules can be forgotten.
  int64_t merge_due_us(Tablet& tablet) { return fresh(tablet).merge_due_us_; }
  ReclaimFigures figures(Tablet& tablet);

 private:
  ReclaimForecast& fresh(Tablet& tablet);
  void look(Tablet& tablet, int64_t now_us);
  bool is_over(Tablet& tablet, int64_t at_us) const;
  void find_slack_out(Tablet& tablet, int64_t now_us);
  void find_over_slack(Tablet& tablet, int64_t now_us);

  bool made_ = false;
  uint64_t publications_ = 0;
  uint64_t schema_version_ = 0;
  int64_t made_us_ = 0;
  DeathCurve deaths_;
  DeathCurve hidden_;
  double bytes_ = 0;
  double unflushed_ = 0;
  double unknown_ = 0;
  int64_t file_due_us_ = INT64_MAX;
  int64_t over_slack_us_ = INT64_MAX;
  int64_t slack_out_us_ = INT64_MAX;
  int64_t merge_due_us_ = INT64_MAX;
};

// Whether the overdue bytes exceed the slack for that many live bytes.
bool is_over_slack(const Tablet& tablet, double live, double overdue);
// Approximate stored size of a byte of keys and values in the tablet's tables.
double stored_per_byte(const Tablet& tablet);
// Approximate stored size of the memtables, which count as live.
double unflushed_bytes(const Tablet& tablet);

}  // namespace cellar::engine
