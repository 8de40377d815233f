// `cellar backup`: backups that a node takes, looks at and restores.
#pragma once

#include "net/cli/commands/commands.h"
#include "net/cli/session/arguments.h"

namespace cellar::cli {

std::vector<CommandSpec> backup_commands();

}  // namespace cellar::cli
