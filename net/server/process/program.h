// What every program that is a node does between its main and its server.
#pragma once

#include "io/base/clock.h"
#include "net/server/config/config.h"
#include "net/server/process/companion.h"
#include "net/server/shard/extra_ops.h"

namespace cellar::server {

inline constexpr int kExitCannotStart = 1;
inline constexpr int kExitUsage = 2;

// Keeps SIGTERM, SIGINT and SIGHUP for run_node. First thing in main, before there are threads.
void hold_stop_signals();

// `companion` may be null. A node that was told to stop drains first, for drain_within at most.
// Starts the node, prints its one line, reads the configuration again at each SIGHUP, waits for a
// signal to stop and stops it in order. The exit code.
int run_node(const Config& config, const Clock& clock, ExtraOps* extra,
             Companion* companion = nullptr);

}  // namespace cellar::server
