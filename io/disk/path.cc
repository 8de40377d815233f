#include "io/disk/path.h"

namespace cellar {

std::string_view path_parent(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

std::string_view path_leaf(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

Result<void> check_path(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) {
    return fail(Errc::invalid_argument, "a path contains a NUL byte");
  }
  for (size_t at = 0; !path.empty() && at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    const std::string_view segment = path.substr(at, end - at);
    if (segment.empty() || segment == "." || segment == "..") {
      return fail(Errc::invalid_argument,
                  "path '{}' is not relative and plain: segment '{}' at byte {}", path, segment,
                  at);
    }
    at = end + 1;
  }
  return {};
}

bool path_matches(std::string_view pattern, std::string_view path) {
  size_t p = 0, s = 0;
  size_t star = std::string_view::npos, resume = 0;
  while (s < path.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      resume = s;
    } else if (p < pattern.size() && pattern[p] == path[s]) {
      ++p;
      ++s;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      s = ++resume;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

}  // namespace cellar
