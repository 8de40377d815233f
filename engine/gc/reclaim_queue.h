// The reclaiming queue of a shard: when the work on each of its tablets must start, so that all of
// it ends in time. ReclaimQueue is a pure function of deadlines and amounts of work;
// plan_reclaims() applies it to the tablets and stores the place of each in its ReclaimState.
//
// The model. The time at which a tablet's slack is used up is known in advance, because what is
// overdue then is already dead (reclaim_forecast.h): that is its deadline. Its work reads a known
// number of bytes, which take a known time without pauses; a shard does one work at a time,
// earliest deadline first. A work must end by its own deadline, and early enough for the next one
// to end in time, and so on:
//
//     end(i)   = min(deadline(i), begin(i + 1))
//     begin(i) = end(i) - work(i) / share
//
// Tablets with the same deadline start one after the other, the first earliest. A tablet's next
// deadline counts from the start of its work, so from then on their deadlines differ.
//
// The share of the time. Early work is expensive: merging every half of reclaim_within merges twice
// as often. Slow work disturbs writers less. The share is therefore the least one, from the table's
// reclaim_share up, with which no work starts earlier than a quarter of reclaim_within before its
// deadline; at most kMostShare, the share that a busy shard gives to merges (io/loop/background.h).
// The write rate also limits the work: `least_us`.
//
// Example: deadlines at 100 and 101 s, 2 s of work each, a share of 0.5: the second starts at 97,
// the first at 93 and ends by 97.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "engine/tablet/tablet.h"

namespace cellar::engine {

struct ReclaimDemand {
  int64_t due_us = 0;     // its deadline
  int64_t within_us = 0;  // the table's reclaim_within
  double share = 0.25;    // the table's reclaim_share
  double work_us = 0;     // without pauses
  double least_us = 0;    // least duration, whatever the share
};

struct ReclaimTime {
  int64_t begin_us = 0;  // latest start
  int64_t end_us = 0;    // latest end, so that later ones are in time too
  double share = 0;      // share of the time used in the plan
};

class ReclaimQueue {
 public:
  static constexpr double kMostShare = 0.6;
  // Fraction of reclaim_within: shorter leads do not justify a greater share.
  static constexpr double kGoodLead = 0.25;
  // Factor of the share between two attempts.
  static constexpr double kStep = 1.25;

  // One result per demand, in the same order.
  static std::vector<ReclaimTime> plan(std::span<const ReclaimDemand> demands);
};

// The next tablet and the start of its work; both times are trusted time.
struct ReclaimTurn {
  TabletId tablet;
  int64_t begin_us = INT64_MAX;       // INT64_MAX: no work
  int64_t deadline_us = INT64_MAX;    // of those that may begin now the first is next
  std::optional<TabletId> following;  // due soon after it
};

// Plans for all tablets of a shard.
ReclaimTurn plan_reclaims(const std::vector<Tablet*>& tablets);

}  // namespace cellar::engine
