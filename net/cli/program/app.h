// The program `cellar`: the choice of a command, help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/base/clock.h"
#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"

namespace cellar::cli {

// Runs the program. `words` are its arguments without its name.
int run(const std::vector<std::string>& words, const Console& console,
        const Clock& clock = system_clock());

const std::vector<CommandSpec>& commands();
// For programs with commands of their own. Call before run().
void add_command(CommandSpec spec);
std::string overview_help();
std::string command_help(const CommandSpec& spec);
std::string group_help(std::string_view group);  // lists the commands of a group, such as "gc"

}  // namespace cellar::cli
