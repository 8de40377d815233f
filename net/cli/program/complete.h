// What the word under the cursor may become, from the table of commands and the node.
#pragma once

#include <string>
#include <vector>

#include "net/cli/program/app.h"
#include "net/cli/session/arguments.h"

namespace cellar::cli {

struct Candidate {
  std::string text;  // the whole word
  std::string help;
  bool ends_word = true;  // false: more of the word follows, as behind "count="
};

// `before`: the words in front, without the program's name. Sorted. Asks the node for tables and
// families through `session`, and does without when it does not answer.
std::vector<Candidate> complete(Session& session, const std::vector<std::string>& before,
                                const std::string& current);

// What the argument `key` may be; empty: anything.
std::vector<std::string> choices_of(const KeySpec& key);

// The hidden command behind the completion of the shells: `__complete bash|zsh LINE`, where LINE
// ends at the cursor. A candidate a line, with a blank behind it when the word ends there; for zsh
// a tab and the help.
int complete_for_shell(const std::vector<std::string>& words, const Console& console);

// `completion bash|zsh`: the script for that shell.
int completion(Session& session, const Arguments& arguments);

}  // namespace cellar::cli
