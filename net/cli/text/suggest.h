// Did-you-mean.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace cellar::cli {

// The candidate that `word` is most likely a slip of; empty when none is near.
std::string nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace cellar::cli
