// `cellar backup`: takes, inspects and restores backups on a node.
#pragma once

#include "net/cli/commands.h"

namespace cellar::cli {

std::vector<CommandSpec> backup_commands();

}  // namespace cellar::cli
