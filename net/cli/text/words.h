// A line of the shell as words: blanks separate, quotes and backslashes as in sh, no expansions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"

namespace cellar::cli {

// INVALID_ARGUMENT: a quote is not closed. A '#' that begins a word begins a comment.
Result<std::vector<std::string>> split_words(std::string_view line);
// The inverse: quotes what needs it.
std::string join_words(const std::vector<std::string>& words);

// For completion: the words before the one under the cursor, and that one, both without quotes. The
// line ends at the cursor; a quote may be open.
struct CutLine {
  std::vector<std::string> before;
  std::string current;
  size_t current_at = 0;  // where it begins in the line
};
CutLine cut_line(std::string_view line);

}  // namespace cellar::cli
