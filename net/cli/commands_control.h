// `cellar reload` and `cellar drain`: operator commands to a running node.
#pragma once

#include "net/cli/commands.h"

namespace cellar::cli {

std::vector<CommandSpec> control_commands();

}  // namespace cellar::cli
