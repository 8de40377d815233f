// `cellar reload` and `cellar drain`: operator commands to a running node.
#pragma once

#include "net/cli/commands/commands.h"
#include "net/cli/session/arguments.h"

namespace cellar::cli {

std::vector<CommandSpec> control_commands();

}  // namespace cellar::cli
