// Suggestions for misspelt words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cellar::cli {

// The most similar candidate; empty if none is similar enough.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace cellar::cli
