// `cellar backup`: backups that a node takes, looks at and restores.
#pragma once

#include "net/cli/arguments.h"
#include "net/cli/commands.h"

namespace cellar::cli {

std::vector<CommandSpec> backup_commands();

}  // namespace cellar::cli
