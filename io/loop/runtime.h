// Runtime: what one shard's code may use of the machine, handed to every object that needs it.
// Everything in it is injected, so the same engine runs on a real loop and in a simulation. Belongs
// to one shard.
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
