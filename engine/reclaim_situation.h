// A tablet's situation, gathered: what reclaiming decides by and what explains it
// (reclaim_reason.h).
#pragma once

#include "engine/reclaim_reason.h"
#include "engine/reclaim_view.h"
#include "engine/tablet.h"

namespace cellar::engine {

// How much earlier than the slack asks for it work begins: as long as such work has taken lately,
// and as a tablet may have to wait since its last turn; half of reclaim_within at most.
int64_t reclaim_lead_us(Tablet& tablet, double bytes);

// As of now. Files in the order of the view.
ReclaimSituation reclaim_situation(Tablet& tablet, const ReclaimView& view);

}  // namespace cellar::engine
