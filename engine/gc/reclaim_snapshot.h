// Gathers a tablet's state for decisions of reclaiming and for their explanation
// (reclaim_reason.h).
#pragma once

#include "engine/gc/reclaim_estimate.h"
#include "engine/gc/reclaim_reason.h"
#include "engine/tablet/tablet.h"

namespace cellar::engine {

// How much earlier than the slack requires work starts: as the shard's queue determines, and as
// long as a tablet may have to wait after its last turn; ReclaimAttempt::kMostLead at most.
int64_t reclaim_lead_us(Tablet& tablet);

// The present state. Files in the order of the estimate.
ReclaimSnapshot reclaim_snapshot(Tablet& tablet, const ReclaimEstimate& view);

}  // namespace cellar::engine
