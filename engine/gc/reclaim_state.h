// ReclaimState: what reclaiming keeps about a tablet between two looks. Made at the first look, and
// destroyed with the tablet.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/gc/reclaim_forecast.h"
#include "engine/tablet/tablet.h"
#include "io/base/result.h"

namespace cellar::engine {

// ReclaimAttempt: what became of the last time that a tablet's dead bytes were dealt with, and when
// it is next looked at. A value; maintenance.cc goes by it, and so does who explains
// (reclaim_reason.h).
struct ReclaimAttempt {
  static constexpr int64_t kLeastWaitUs = 1'000'000;
  static constexpr int64_t kLeastAgainUs = 100'000;
  // What a tablet's queue asks for is not begun earlier than this part of reclaim_within before it
  // is due: what died since would be due again as soon as it is done.
  static constexpr double kMostLead = 0.75;
  // So long after it began a tablet may be worked on again; and where that failed or was in vain.
  static constexpr int64_t again_us(int64_t within_us) {
    return std::max(kLeastAgainUs, within_us / 64);
  }
  static constexpr int64_t retry_us(int64_t within_us) {
    return std::max(kLeastWaitUs, within_us / 4);
  }

  int64_t at_us = 0;             // trusted; 0: there was none since the tablet was opened
  int64_t not_before_us = 0;     // trusted: the next one
  std::optional<Error> failure;  // of the last one
  bool in_vain = false;          // it took less away than was thought to be dead, or could not
  // Its place in the shard's queue (compaction/reclaim_queue.h), as of the last look at all of
  // them.
  int64_t lead_us = 0;            // work begins so long before the slack is used up,
  int64_t end_by_us = INT64_MAX;  // and ends by then; trusted
  double share = 0;               // of the time that it is to take at least; 0: the table's
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
