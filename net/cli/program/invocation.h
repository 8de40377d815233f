// One command line, taken apart: the options of every command, the command, its arguments.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"

namespace cellar::cli {

struct Invocation {
  GlobalOptions globals;
  const CommandSpec* spec = nullptr;  // null: no command was named
  std::string group;                  // without a spec: a group was, as "gc", with --help
  Arguments arguments;
  bool any_word = false;
};

// INVALID_ARGUMENT, for a usage message: unknown command or option, arguments that do not fit. With
// --help or --version what else is wrong does not matter.
Result<Invocation> parse_invocation(const std::vector<std::string>& words);

}  // namespace cellar::cli
