// Completions of the word under the cursor, from the table of commands and the node.
#pragma once

#include <string>
#include <vector>

#include "net/cli/program/app.h"
#include "net/cli/session/arguments.h"

namespace cellar::cli {

struct Candidate {
  std::string text;  // the whole word
  std::string help;
  bool ends_word = true;  // false: more of the word follows, as after "count="
};

// `before`: the words before the cursor, without the program's name. Sorted. Asks the node for
// tables and families through `session`; without a reply it omits them.
std::vector<Candidate> complete(Session& session, const std::vector<std::string>& before,
                                const std::string& current);

// The values of argument `key`; empty: any.
std::vector<std::string> choices_of(const KeySpec& key);

// The hidden command that the shells' completion calls: `__complete bash|fish|zsh LINE`, where
// LINE ends at the cursor. Prints one candidate per line, followed by a blank if the word is
// complete, which fish finds out itself; for fish and zsh by a tab and the help.
int complete_for_shell(const std::vector<std::string>& words, const Console& console);

// `completion bash|fish|zsh`: prints the script for that shell.
CommandResult completion(Session& session, const Arguments& arguments);

}  // namespace cellar::cli
