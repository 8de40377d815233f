// ReclaimState: state of reclaiming kept with a tablet between two looks. Created at the first
// look, and destroyed with the tablet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/gc/reclaim_forecast.h"
#include "engine/tablet/tablet.h"
#include "io/base/result.h"

namespace cellar::engine {

// ReclaimAttempt: the outcome of the last reclaiming of a tablet, and the time of the next look. A
// value. Read by maintenance.cc and by the reclaim report (reclaim_reason.h).
struct ReclaimAttempt {
  static constexpr int64_t kLeastWaitUs = 1'000'000;
  static constexpr int64_t kLeastAgainUs = 100'000;
  // The longest lead of work, as a part of reclaim_within: with a longer one, cells that died
  // meanwhile would be due again as soon as it is done.
  static constexpr double kMostLead = 0.75;
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
  bool in_vain = false;          // it removed less than was estimated to be dead, or could not
  // Its place in the shard's queue (gc/reclaim_queue.h), as of the last plan.
  int64_t lead_us = 0;            // work starts this long before the slack is used up,
  int64_t end_by_us = INT64_MAX;  // and ends by this trusted time
  double share = 0;               // least share of the time; 0: the table's
};

struct ReclaimState final : TabletAttachment {
  ReclaimForecast outlook;
  ReclaimAttempt attempt;

  static ReclaimState& of(Tablet& tablet);
};

inline ReclaimState& ReclaimState::of(Tablet& tablet) {
  std::unique_ptr<TabletAttachment>& state = tablet.reclaim_state();
  if (!state) state = std::make_unique<ReclaimState>();
  return static_cast<ReclaimState&>(*state);
}

inline ReclaimForecast& reclaim_forecast(Tablet& tablet) {
  return ReclaimState::of(tablet).outlook;
}
inline ReclaimAttempt& reclaim_attempt(Tablet& tablet) { return ReclaimState::of(tablet).attempt; }

}  // namespace cellar::engine
