// The text of settings that are lists.
#pragma once

#include <string_view>

namespace cellar::server {

// Without spaces and tabs at its ends.
inline std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

}  // namespace cellar::server
