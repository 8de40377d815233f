// `cellar doctor`: finds problems of a node or its directory and suggests remedies.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/cli/commands/commands.h"
#include "net/cli/session/arguments.h"

namespace cellar::cli {

struct Finding {
  enum class Level : uint8_t { good, warning, problem };
  Level level = Level::good;
  std::string check;   // "clock"
  std::string what;    // the finding
  std::string advice;  // the remedy; empty if nothing is wrong
};

// Checks a data directory without its node: it exists, is ours and of a known format, whether a
// node uses it, and the free space. Opens nothing for writing.
std::vector<Finding> look_at_directory(const std::string& directory);

std::vector<CommandSpec> doctor_commands();

}  // namespace cellar::cli
