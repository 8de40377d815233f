// Startup and shutdown shared by all programs that run a node.
#pragma once

#include "io/base/clock.h"
#include "net/server/config/config.h"
#include "net/server/process/sidecar.h"
#include "net/server/requests/dispatch.h"

namespace cellar::server {

inline constexpr int kExitCannotStart = 1;
inline constexpr int kExitUsage = 2;

// Blocks SIGTERM, SIGINT and SIGHUP for run_node. Call first in main, before starting threads.
void hold_stop_signals();

// `sidecar` may be null. Starts the node, prints its address line, rereads the configuration at
// each SIGHUP, and at a stop signal drains for at most drain_within and stops in order. Returns the
// exit code.
int run_node(const Config& config, const Clock& clock, Sidecar* sidecar = nullptr,
             const RequestHandler& handler = request_handler());

}  // namespace cellar::server
