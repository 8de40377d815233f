// Format strings of log calls, which determine the fields of a line (io/base/log_setup.h).
#include <gtest/gtest.h>

#include <regex>
#include <set>

#include "tests/tidy/source_tree.h"

namespace cellar::tidy {
namespace {

struct LogCall {
  std::string path;
  std::string format;
};

std::vector<LogCall> log_calls() {
  static const std::regex kCall(
      R"re(log_(?:debug|info|warn|error)\(\s*"\w+",\s*((?:"(?:[^"\\]|\\.)*"\s*)+))re");
  static const std::regex kBetween(R"re("\s*")re");
  std::vector<LogCall> calls;
  for (const SourceFile& file : read_sources({"io", "engine", "net"})) {
    const std::string text = read_text(source_root() / file.path);
    for (std::sregex_iterator at(text.begin(), text.end(), kCall), end; at != end; ++at) {
      calls.push_back({file.path, std::regex_replace((*at)[1].str(), kBetween, "")});
    }
  }
  return calls;
}

TEST(LogCalls, NoKeyIsThereTwiceOrIsOneOfEveryLine) {
  static const std::regex kKey(R"((?:^"| )([a-z0-9_.]+)=)");
  const std::vector<LogCall> calls = log_calls();
  EXPECT_GT(calls.size(), 40u) << "the calls are not found any more";
  for (const LogCall& call : calls) {
    std::set<std::string> keys = {"ts", "level", "component", "msg", "lines_left_out"};
    for (std::sregex_iterator at(call.format.begin(), call.format.end(), kKey), end; at != end;
         ++at) {
      EXPECT_TRUE(keys.insert((*at)[1]).second) << call.path << ": " << call.format;
    }
  }
}

// The log formats its arguments in order.
TEST(LogCalls, ArgumentsHaveNoNumbers) {
  static const std::regex kNumbered(R"(\{[0-9]|\{:[^}]*\{)");
  for (const LogCall& call : log_calls()) {
    EXPECT_FALSE(std::regex_search(call.format, kNumbered)) << call.path << ": " << call.format;
  }
}

}  // namespace
}  // namespace cellar::tidy
