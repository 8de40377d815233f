// Asking before something is done that cannot be taken back by typing on.
#pragma once

#include <string_view>

#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"

namespace cellar::cli {

// For commands that ask: --yes.
std::vector<KeySpec> confirm_keys();

// Whether there is an answer to be had: --yes was given, or someone sits at a terminal.
// INVALID_ARGUMENT: neither. To be asked before the work that leads to the question.
Result<void> can_confirm(const Session& session, const Arguments& arguments);

// True with --yes, else what is typed behind "QUESTION [y/N] ". REQUIRES: can_confirm().
bool confirmed(const Session& session, const Arguments& arguments, std::string_view question);

}  // namespace cellar::cli
