// Paths of FileSystem: relative to its root, '/'-separated; "" is the root.
#pragma once

#include <string_view>

#include "io/base/result.h"

namespace cellar {

// "wal/1.log" -> "wal"; "CURRENT" -> "".
std::string_view path_parent(std::string_view path);
// "wal/1.log" -> "1.log".
std::string_view path_leaf(std::string_view path);

// INVALID_ARGUMENT for an absolute path, an empty segment, "." or "..", or a NUL.
Result<void> check_path(std::string_view path);

// Shell-like: '*' matches any bytes, including '/'; other characters match themselves.
bool path_matches(std::string_view pattern, std::string_view path);

}  // namespace cellar
