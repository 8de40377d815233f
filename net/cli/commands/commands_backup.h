// `cellar backup`: takes, inspects and restores backups on a node.
#pragma once

#include "net/cli/commands/commands.h"
#include "net/cli/session/arguments.h"

namespace cellar::cli {

std::vector<CommandSpec> backup_commands();

}  // namespace cellar::cli
