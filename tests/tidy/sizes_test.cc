// Bounds of sizes that keep files readable: a file beyond the bound contains a second noun.
#include <gtest/gtest.h>

#include <map>

#include "tests/tidy/source_tree.h"

namespace cellar::tidy {
namespace {

constexpr size_t kMaxFileLines = 700;
constexpr size_t kMaxFunctionLines =
    90;  // a screen is 70; a table of cases or a flat switch may need more
constexpr size_t kMaxLineBytes = 130;
constexpr size_t kMaxFolderSources = 25;

TEST(Sizes, NoFileIsLongerThanItsBound) {
  for (const SourceFile& file : read_sources({"io", "engine", "net", "bench", "tests"})) {
    EXPECT_LE(file.lines.size(), kMaxFileLines) << file.path;
  }
}

TEST(Sizes, NoFolderHasMoreSourcesThanItsBound) {
  std::map<std::string, size_t> sources;
  for (const SourceFile& file : read_sources({"io", "engine", "net", "bench", "tests"})) {
    sources[file.component] += file.path.ends_with(".cc") ? 1 : 0;
  }
  for (const auto& [folder, count] : sources) EXPECT_LE(count, kMaxFolderSources) << folder;
}

TEST(Sizes, NoLineIsLongerThanItsBound) {
  for (const SourceFile& file : read_sources({"io", "engine", "net"})) {
    for (size_t i = 0; i < file.lines.size(); ++i) {
      EXPECT_LE(file.lines[i].size(), kMaxLineBytes) << file.path << ":" << i + 1;
    }
  }
}

// The formatting indents a body by two and closes a function at its own indentation, so a function
// at namespace level ends with a line that is exactly "}".
TEST(Sizes, NoFunctionIsLongerThanItsBound) {
  for (const SourceFile& file : read_sources({"io", "engine", "net"})) {
    size_t open = 0;
    for (size_t i = 0; i < file.code.size(); ++i) {
      const std::string& line = file.code[i];
      const bool opens = !line.empty() && line.back() == '{' && line[0] != ' ' &&
                         line.find('(') != std::string::npos;
      if (opens) open = i + 1;
      if (line == "}" && open != 0) {
        EXPECT_LE(i + 1 - open, kMaxFunctionLines) << file.path << ":" << open;
        open = 0;
      }
    }
  }
}

}  // namespace
}  // namespace cellar::tidy
