// A parsed command line: the global options, the command, its arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"

namespace cellar::cli {

struct Invocation {
  GlobalOptions globals;
  const CommandSpec* spec = nullptr;  // null: no command
  std::string group;                  // if spec is null: a group, such as "gc", with --help
  Arguments arguments;
  bool any_word = false;
};

// INVALID_ARGUMENT, for a usage message: unknown command or option, or invalid arguments. With
// --help or --version other faults are ignored.
Result<Invocation> parse_invocation(const std::vector<std::string>& words);

}  // namespace cellar::cli
