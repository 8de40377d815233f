// `cellar doctor`: what is wrong with a node or its directory, and what to do about it.
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
  std::string what;    // what is so
  std::string advice;  // what to do; empty where nothing is
};

// What the files of a data directory say without its node: that it is there, ours, of a format that
// is known, whether a node has it, how much room is left. Opens nothing for writing.
std::vector<Finding> look_at_directory(const std::string& directory);

std::vector<CommandSpec> doctor_commands();

}  // namespace cellar::cli
