// Checks tests/LIMITS.md: every limit that a header declares has a row, the constant is where the
// row says, and the test that the row names exists.
#include <gtest/gtest.h>

#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "tests/tidy/source_tree.h"

namespace cellar::tidy {
namespace {

struct LimitRow {
  std::string header;
  std::string test;
};

std::map<std::string, LimitRow> read_rows() {
  static const std::regex kRow(R"(^\| `(\w+)` \| (\S+) \| [^|]+ \| ([^|]+) \|$)");
  std::map<std::string, LimitRow> rows;
  std::istringstream in(read_text(source_root() / "tests/LIMITS.md"));
  std::smatch match;
  for (std::string line; std::getline(in, line);) {
    if (!std::regex_match(line, match, kRow)) continue;
    EXPECT_TRUE(rows.emplace(match[1], LimitRow{match[2], match[3]}).second)
        << match[1] << " twice";
  }
  return rows;
}

TEST(Limits, EveryLimitOfAHeaderHasARow) {
  // The components whose limits must all have rows. Other bounds, of servers and clients, may have
  // rows, which are checked.
  static const std::set<std::string> kComponents = {
      "engine",         "engine/backup", "engine/catalog", "engine/files",  "engine/filter",
      "engine/gc",      "engine/jobs",   "engine/model",   "engine/node",   "engine/record",
      "engine/reshape", "engine/shard",  "engine/store",   "engine/tablet", "engine/version",
      "engine/write",   "net/wire"};
  static const std::regex kLimit(R"(constexpr .*\b(kMax[A-Z]\w*) ?(=|\{))");
  const auto rows = read_rows();
  size_t limits = 0;
  for (const SourceFile& file : read_sources({"engine", "net"})) {
    if (!kComponents.contains(file.component) || !file.path.ends_with(".h")) continue;
    for (const std::string& line : file.code) {
      std::smatch match;
      if (!std::regex_search(line, match, kLimit)) continue;
      ++limits;
      EXPECT_TRUE(rows.contains(match[1]))
          << match[1] << " of " << file.path << " has no row in tests/LIMITS.md";
    }
  }
  EXPECT_GT(limits, 30u);
}

TEST(Limits, EveryRowNamesAConstantAndATestThatAreThere) {
  for (const auto& [name, row] : read_rows()) {
    ASSERT_TRUE(std::filesystem::exists(source_root() / row.header)) << name << ": " << row.header;
    EXPECT_NE(read_text(source_root() / row.header).find(name), std::string::npos)
        << name << " does not stand in " << row.header;
    if (row.test.starts_with("-")) {
      EXPECT_GT(row.test.size(), 4u) << name << " needs a reason";
      continue;
    }
    const size_t space = row.test.find(' ');
    ASSERT_NE(space, std::string::npos) << name << ": '" << row.test << "' names no test";
    const auto file = source_root() / row.test.substr(0, space);
    ASSERT_TRUE(std::filesystem::exists(file)) << name << ": " << file;
    EXPECT_NE(read_text(file).find(row.test.substr(space + 1)), std::string::npos)
        << name << ": " << row.test << " is not there";
  }
}

}  // namespace
}  // namespace cellar::tidy
