// `cellar shell`: runs commands one after the other over the same connections. Lines come from a
// terminal, with editing, history and completion, or from a script on standard input.
//
// Ctrl-C ends the running command or clears the line; Ctrl-D, `exit` and `quit` end the shell. A
// script continues after a failed command and then ends with exit code 7; with --stop-on-error it
// ends at once with the code of that command.
#pragma once

#include "net/cli/program/app.h"
#include "net/cli/session/arguments.h"

namespace cellar::cli {

CommandResult shell(Session& session, const Arguments& arguments);

}  // namespace cellar::cli
