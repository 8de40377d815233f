// The command `time` of the sandbox's shell: shows and moves the clocks.
#pragma once

#include "net/cli/session/arguments.h"
#include "net/sandbox/movable_clock.h"

namespace cellar::sandbox {

// `clock` outlives every run of the command.
cli::CommandSpec time_command(MovableClock& clock);

}  // namespace cellar::sandbox
