// The queue of a shard's reclaiming: when the work of each of its tablets has to be begun, so that
// all of it ends in time. A pure function of deadlines and amounts of work.
//
// The model. A tablet's slack is used up at a moment that is known ahead, for what is overdue then
// is dead already (reclaim_forecast.h): that is its deadline. Its work reads so many bytes, which
// without rests take so long; a shard does one work at a time, first deadline first. So a work has
// to end by its own deadline, and early enough for the next one to end in time, and so on:
//
//     end(i)   = min(deadline(i), begin(i + 1))
//     begin(i) = end(i) - work(i) / share
//
// Tablets that fall due together are begun one after the other, the first earliest; a tablet's next
// deadline counts from the beginning of its work, so from then on they fall due apart.
//
// The share of the time. Early work is dear: what is merged every half of reclaim_within is merged
// twice as often. Slow work is gentle on who writes meanwhile. So the share is the least one, from
// the table's reclaim_share up, with which nothing is begun earlier than a quarter of
// reclaim_within before its deadline; at most kMostShare, which is what a busy shard gives to
// merges (io/loop/background.h). What the disk may be given bounds the work besides: `least_us`.
//
// Example: deadlines at 100 and 101 s, 2 s of work each, a share of 0.5: the second begins at 97,
// the first at 93 and ends by 97.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace cellar::engine {

struct ReclaimDemand {
  int64_t due_us = 0;     // its deadline
  int64_t within_us = 0;  // the table's reclaim_within
  double share = 0.25;    // the table's reclaim_share
  double work_us = 0;     // without rests
  double least_us = 0;    // that it takes however great the share
};

struct ReclaimTime {
  int64_t begin_us = 0;  // at the latest
  int64_t end_us = 0;    // likewise: those that come after it are in time, too
  double share = 0;      // of the time, that this was reckoned with
};

class ReclaimQueue {
 public:
  static constexpr double kMostShare = 0.6;
  // Of reclaim_within: leads that are no longer are not worth a greater share.
  static constexpr double kGoodLead = 0.25;
  // By so much the share is raised between two attempts.
  static constexpr double kStep = 1.25;

  // One for each, in their order.
  static std::vector<ReclaimTime> plan(std::span<const ReclaimDemand> demands);
};

}  // namespace cellar::engine
