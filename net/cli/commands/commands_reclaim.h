// `cellar gc why`, and what others tell of reclaiming.
#pragma once

#include <string>
#include <vector>

#include "net/cli/commands/commands.h"
#include "net/cli/session/arguments.h"
#include "net/client/calls/reclaim_client.h"

namespace cellar::cli {

// The exit code of `gc why` where a reclaim deadline is missed.
inline constexpr int kMissed = 9;

std::vector<CommandSpec> reclaim_commands();
// `"live_bytes":1,"dead_bytes":2,...`.
std::string reclaim_figures_json(const client::ReclaimFigures& of);
// Of all tables, without their files.
Result<client::ReclaimReport> ask_reclaim_figures(const Session& session);

}  // namespace cellar::cli
