// The queue of a shard's reclaiming, from what is known of its tablets: each is told its place
// (reclaim_state.h), which the picker and who explains go by from then on.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/tablet/tablet.h"

namespace cellar::engine {

// Whose turn it is, and when that begins; both times are trusted.
struct ReclaimTurn {
  Tablet* tablet = nullptr;
  int64_t begin_us = INT64_MAX;     // INT64_MAX: there is nothing to do
  int64_t deadline_us = INT64_MAX;  // of those that may begin the first is next
  Tablet* following = nullptr;      // comes soon after it; null: none does
};

// Of all tablets of a shard. REQUIRES: `tablets` has something in it.
ReclaimTurn plan_reclaims(const std::vector<Tablet*>& tablets);

}  // namespace cellar::engine
