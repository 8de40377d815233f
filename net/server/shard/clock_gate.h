// ClockGate: whether a request may be answered by the shard's trusted clock as it stands
// (engine/node/clock_keeper.h). After an idle time the first request waits for one anchor; where no
// anchor can be had, requests are answered at the standing time while it lags little, and refused
// afterwards.
#pragma once

#include <cstdint>

#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::server {

class ShardServer;

// Its answer depends on the time.
bool needs_time(uint16_t op);
// On the shard; resumes there. UNAVAILABLE where the lag is too large, and a retry can help.
Async<Result<void>> admit_by_time(ShardServer& shard);

}  // namespace cellar::server
