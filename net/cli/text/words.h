// Splits a shell line into words: separated by blanks, quotes and backslashes as in sh, no
// expansions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"

namespace cellar::cli {

// INVALID_ARGUMENT: unterminated quote. A '#' at the start of a word starts a comment.
Result<std::vector<std::string>> split_words(std::string_view line);
// The inverse: quotes words if necessary.
std::string join_words(const std::vector<std::string>& words);

// For completion: the words before the cursor and the current one, without quotes. The line ends at
// the cursor; a quote may be open.
struct CutLine {
  std::vector<std::string> before;
  std::string current;
  size_t current_at = 0;  // its position in the line
};
CutLine cut_line(std::string_view line);

}  // namespace cellar::cli
