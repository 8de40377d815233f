// What every program that is a node does between its main and its server.
#pragma once

#include "io/base/clock.h"
#include "net/server/config.h"
#include "net/server/extra_ops.h"

namespace cellar::server {

inline constexpr int kExitCannotStart = 1;
inline constexpr int kExitUsage = 2;

// Keeps SIGTERM and SIGINT for run_node. First thing in main, before there are threads.
void hold_stop_signals();

// Starts the node, prints its one line, waits for a signal and stops it in order. The exit code.
int run_node(const ServerOptions& options, const Clock& clock, ExtraOps* extra);

}  // namespace cellar::server
