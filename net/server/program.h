// What every program that is a node does between its main and its server.
#pragma once

#include "io/base/clock.h"
#include "net/server/config.h"
#include "net/server/extra_ops.h"

namespace cellar::server {

inline constexpr int kExitCannotStart = 1;
inline constexpr int kExitUsage = 2;

// Keeps SIGTERM, SIGINT and SIGHUP for run_node. First thing in main, before there are threads.
void hold_stop_signals();

// Starts the node, prints its one line, reads the configuration again at each SIGHUP, waits for a
// signal to stop and stops it in order. The exit code.
int run_node(const Config& config, const Clock& clock, ExtraOps* extra);

}  // namespace cellar::server
