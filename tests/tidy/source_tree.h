// The sources as text, for tests of rules that no compiler checks. A violation fails with file and
// line; exceptions are listed in the rule, with their reason.
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
      code;  // the same lines without comments and without the contents of string literals
};

std::filesystem::path source_root();
// Every .h and .cc below these folders, sorted by path.
std::vector<SourceFile> read_sources(const std::vector<std::string>& folders);
// "io/base/x.h" -> "io/base"; "engine/tablet/tablet.h" -> "engine".
std::string component_of(std::string_view path);
std::string read_text(const std::filesystem::path& path);

}  // namespace cellar::tidy
