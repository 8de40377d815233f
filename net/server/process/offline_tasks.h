// What cellard does to a data directory instead of serving it: moves its format up, fills it from a
// backup. The node does not run; its lock is taken.
#pragma once

#include "io/base/clock.h"
#include "net/server/config/config.h"

namespace cellar::server {

// The exit code; says what was done on standard output, and why not on standard error.
int run_task(const Config& config, const Clock& clock);

}  // namespace cellar::server
