// `cellar reload` and `cellar drain`: what an operator tells a node that serves.
#pragma once

#include "net/cli/commands/commands.h"
#include "net/cli/session/arguments.h"

namespace cellar::cli {

std::vector<CommandSpec> control_commands();

}  // namespace cellar::cli
