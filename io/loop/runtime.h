// Runtime: the machine services of one shard, handed to every object that needs them. All are
// injected, so the same engine runs on a real loop and in a simulation.
#pragma once

#include "io/base/random.h"
#include "io/base/trusted_clock.h"
#include "io/loop/async.h"
#include "io/loop/timers.h"

namespace cellar {

struct Runtime {
  ShardExecutor executor;
  Timers& timers;
  TrustedClock& clock;
  Random& random;
};

}  // namespace cellar
