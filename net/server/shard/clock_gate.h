// ClockGate: whether the shard's trusted clock may answer a request (engine/node/clock_keeper.h).
// After an idle period the first request waits for an anchor. If no anchor can be had, requests are
// answered at the standing time while its lag is small, and refused afterwards.
#pragma once

#include "io/base/result.h"
#include "io/loop/async.h"

namespace cellar::server {

class LocalShard;

// Call on the shard; resumes there. UNAVAILABLE (retryable) if the lag is too large.
Async<Result<void>> admit_by_time(LocalShard& shard);

}  // namespace cellar::server
