// Confirmation of commands that cannot be undone.
#pragma once

#include <string_view>

#include "net/cli/session/arguments.h"
#include "net/cli/session/session.h"

namespace cellar::cli {

// The argument of commands that ask: --yes.
std::vector<KeySpec> confirm_keys();

// INVALID_ARGUMENT if no answer is possible: --yes was not given and there is no terminal. Call it
// before the work that leads to the question.
Result<void> can_confirm(const Session& session, const Arguments& arguments);

// True with --yes, or if the answer to "QUESTION [y/N] " is yes. REQUIRES: can_confirm().
bool confirmed(const Session& session, const Arguments& arguments, std::string_view question);

}  // namespace cellar::cli
