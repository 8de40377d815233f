// Plans the reclaiming of a shard from the known facts about its tablets. Each tablet's place is
// stored in its reclaim_state.h, for the picker and for explanations.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "engine/tablet/tablet.h"

namespace cellar::engine {

// The next tablet and the start of its work; both times are trusted time.
struct ReclaimTurn {
  Tablet* tablet = nullptr;
  int64_t begin_us = INT64_MAX;     // INT64_MAX: no work
  int64_t deadline_us = INT64_MAX;  // the tablet with the first deadline is next
  Tablet* following = nullptr;      // due soon after it; null: none
};

// Plans for all tablets of a shard. REQUIRES: not empty.
ReclaimTurn plan_reclaims(const std::vector<Tablet*>& tablets);

}  // namespace cellar::engine
