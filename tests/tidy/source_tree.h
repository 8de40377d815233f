// The sources as text, for tests that hold rules no compiler checks. A rule that the tree does not
// obey fails with file and line; the exceptions are named in the rule, with their reason.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace cellar::tidy {

struct SourceFile {
  std::string path;       // relative to the repository, "io/base/bytes.h"
  std::string component;  // "io/base", "engine", "net/server", ...
  std::vector<std::string> lines;
  std::vector<std::string>
      code;  // the same lines without comments and without what stands in string literals
};

std::filesystem::path source_root();
// Every .h and .cc below these folders, sorted by path.
std::vector<SourceFile> read_sources(const std::vector<std::string>& folders);
// "io/base/x.h" -> "io/base"; "engine/tablet/tablet.h" -> "engine".
std::string component_of(std::string_view path);
std::string read_text(const std::filesystem::path& path);

}  // namespace cellar::tidy
