// `cellar gc why`, and reclaim figures for other commands.
#pragma once

#include <string>
#include <vector>

#include "net/cli/commands/commands.h"
#include "net/cli/session/arguments.h"
#include "net/client/calls/reclaim_client.h"

namespace cellar::cli {

// Exit code of `gc why` if a reclaim deadline is missed.
inline constexpr int kMissed = 9;

std::vector<CommandSpec> reclaim_commands();
// `"live_bytes":1,"dead_bytes":2,...`.
std::string reclaim_figures_json(const client::ReclaimFigures& of);
// Figures of all tables, without files.
Result<client::ReclaimReport> ask_reclaim_figures(const Session& session);

}  // namespace cellar::cli
