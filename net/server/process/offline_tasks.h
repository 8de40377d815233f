// The task of cellard on a data directory without serving: restore of a backup. It takes the node's
// lock.
#pragma once

#include "io/base/clock.h"
#include "net/server/config/config.h"

namespace cellar::server {

// Returns the exit code; prints the result to standard output, errors to standard error.
int run_task(const Config& config, const Clock& clock);

}  // namespace cellar::server
