// ReclaimState: what reclaiming keeps about a tablet between two looks. Made at the first look, and
// destroyed with the tablet.
#pragma once

#include "engine/gc/reclaim_attempt.h"
#include "engine/gc/reclaim_outlook.h"
#include "engine/tablet/tablet.h"

namespace cellar::engine {

struct ReclaimState final : TabletAttachment {
  ReclaimOutlook outlook;
  ReclaimAttempt attempt;

  static ReclaimState& of(Tablet& tablet);
};

inline ReclaimState& ReclaimState::of(Tablet& tablet) {
  std::unique_ptr<TabletAttachment>& state = tablet.reclaim_state();
  if (!state) state = std::make_unique<ReclaimState>();
  return static_cast<ReclaimState&>(*state);
}

inline ReclaimOutlook& reclaim_outlook(Tablet& tablet) { return ReclaimState::of(tablet).outlook; }
inline ReclaimAttempt& reclaim_attempt(Tablet& tablet) { return ReclaimState::of(tablet).attempt; }

}  // namespace cellar::engine
