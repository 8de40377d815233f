// A tablet's situation, gathered: what reclaiming decides by and what explains it
// (reclaim_reason.h).
#pragma once

#include "engine/gc/reclaim_estimate.h"
#include "engine/gc/reclaim_reason.h"
#include "engine/tablet/tablet.h"

namespace cellar::engine {

// How much earlier than the slack asks for it work begins: as the shard's queue says, and as long
// as a tablet may have to wait since its last turn; ReclaimAttempt::kMostLead at most.
int64_t reclaim_lead_us(Tablet& tablet);

// As of now. Files in the order of the view.
ReclaimSnapshot reclaim_snapshot(Tablet& tablet, const ReclaimEstimate& view);

}  // namespace cellar::engine
