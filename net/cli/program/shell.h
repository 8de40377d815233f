// `cellar shell`: the commands one after the other, over the same connections. Lines come from a
// terminal, with editing, history and completion, or from a script on standard input.
//
// Ctrl-C ends the command that is running, or empties the line; Ctrl-D, `exit` and `quit` end the
// shell. A script goes on after a command that failed, unless --stop-on-error, and ends with 7
// then.
#pragma once

#include "net/cli/program/app.h"
#include "net/cli/session/arguments.h"

namespace cellar::cli {

int shell(Session& session, const Arguments& arguments);

}  // namespace cellar::cli
