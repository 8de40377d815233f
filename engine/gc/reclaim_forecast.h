// ReclaimForecast: when a tablet is next due for reclaiming, and its figures, kept until its
// tables, its rules or enough time have changed them; so a look at a shard of 10,000 tablets does
// not look at all of their tables.
//
// Invariant: an outlook is never later than what a fresh one would say, by more than kMostAge of
// reclaim_within.
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
  // A sixteenth of reclaim_within, and at least a second.
  static constexpr int64_t kMostAge = 16;
  static constexpr int64_t kLeastAgeUs = 1'000'000;

  // It has to be looked at anew, which costs more than the rest here.
  bool is_stale(Tablet& tablet) const;
  // When dead bytes are first overdue by more than the slack; INT64_MAX: never, as things are.
  int64_t slack_out_us(Tablet& tablet) { return fresh(tablet).slack_out_us_; }
  // The same, and where more is overdue already, since when; so it may have passed.
  int64_t slack_deadline_us(Tablet& tablet) {
    return std::min(slack_out_us(tablet), over_slack_us_);
  }
  // When work on that begins: earlier by reclaim_lead_us().
  int64_t slack_due_us(Tablet& tablet);
  // What that work reads at most, the memtables included.
  double work_bytes(Tablet& tablet) { return fresh(tablet).bytes_ + unflushed_; }
  // When a merge of all runs has something to do that nothing less does: a table is wholly dead, or
  // past rules can be forgotten.
  int64_t merge_due_us(Tablet& tablet) { return fresh(tablet).merge_due_us_; }
  // As of now.
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

// So many overdue bytes are over the slack of that many living ones.
bool is_over_slack(const Tablet& tablet, double live, double overdue);
// What a byte of keys and values takes on disk, about, by the tablet's tables.
double stored_per_byte(const Tablet& tablet);
// About what the memtables will take on disk: living bytes, too.
double unflushed_bytes(const Tablet& tablet);

}  // namespace cellar::engine
