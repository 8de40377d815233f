// The program without a node: help, completion, usage errors.

#include <algorithm>
#include <cstdlib>
#include <fstream>

#include "net/cli/program/complete.h"
#include "net/cli/program/invocation.h"
#include "net/cli/text/words.h"
#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

TEST(Program, HelpIsAsItWasAgreed) {
  std::string all = cellar({"--help"}).out;
  for (const CommandSpec& spec : commands()) {
    std::vector<std::string> words = *split_words(spec.name);
    words.emplace_back("--help");
    const Outcome help = cellar(words);
    EXPECT_EQ(help.code, kDone);
    EXPECT_NE(help.out.find("Example"), std::string::npos) << spec.name;
    all += fmt::format("\n---- cellar {} --help\n{}", spec.name, help.out);
  }
  const std::string path = std::string(CELLAR_SOURCE_DIR) + "/tests/net/golden/cellar_help.txt";
  if (std::getenv("CELLAR_UPDATE_GOLDEN")) std::ofstream(path) << all;
  std::ifstream file(path);
  const std::string golden((std::istreambuf_iterator<char>(file)), {});
  EXPECT_EQ(all, golden) << "if this is meant, run with CELLAR_UPDATE_GOLDEN=1";
}

TEST(Program, EveryCommandHasHelpAnExampleAndCompletion) {
  Session session;
  session.console.out = std::tmpfile();
  const auto offers = [&](const std::vector<std::string>& before, const std::string& current,
                          const std::string& text) {
    for (const Candidate& candidate : complete(session, before, current)) {
      if (candidate.text == text) return !candidate.help.empty();
    }
    return false;
  };
  for (const CommandSpec& spec : commands()) {
    EXPECT_FALSE(spec.summary.empty()) << spec.name;
    EXPECT_FALSE(spec.examples.empty()) << spec.name;
    std::vector<std::string> words = *split_words(spec.name);
    const std::string last = words.back();
    words.pop_back();
    EXPECT_TRUE(offers(words, last, last)) << spec.name;
    words.push_back(last);
    for (const KeySpec& key : spec.keys) {
      EXPECT_FALSE(key.help.empty()) << spec.name << " " << key.name;
      EXPECT_TRUE(offers(words, "--" + key.name, "--" + key.name)) << spec.name;
      for (const char* closed : {"LEVEL", "UNIT", "ZONE", "BOOL", "FORM"}) {
        if (key.value == closed) EXPECT_FALSE(choices_of(key).empty()) << spec.name << key.name;
      }
    }
    words.emplace_back("--help");
    EXPECT_EQ(cellar(words).code, kDone);
  }
  std::fclose(session.console.out);
}

TEST(Program, UsageErrorsAreNamedAndExitWithTwo) {
  const auto usage = [](std::vector<std::string> words, std::string_view expected) {
    const Outcome outcome = cellar(std::move(words));
    EXPECT_EQ(outcome.code, kUsage);
    EXPECT_EQ(outcome.out, "");
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
  };
  usage({"raed", "t"}, "cellar: there is no command 'raed'; did you mean read?");
  usage({"elephant"}, "there is no command 'elephant'; see cellar --help");
  usage({"--colour", "ls"}, "ls takes no --colour");
  usage({"--colour"}, "there is no option --colour");
  usage({"gc"}, "gc takes one of show, preview, set, undo, explain, why; see cellar gc --help");
  usage({"gc", "sett"}, "why, not 'sett'");
  usage({"gc", "set", "t", "f"}, "gc set needs TABLE FAMILY RULE");
  usage({"gc", "set", "t", "f", "maxage=2d", "xor", "maxage=3d"}, "column 11");
  usage({"gc", "set", "t", "f", "maxage=2d"}, "add --yes");
  usage({"read"}, "read needs TABLE");
  usage({"read", "t", "cuont=1"}, "did you mean count=?");
  usage({"read", "t", "--cuont", "1"}, "--cuont");
  usage({"read", "t", "count=x"}, "count=x is not a whole number");
  usage({"read", "t", "count=0"}, "count=0 is not at least 1");
  usage({"read", "t", "since=never"}, "'never' is not a time");
  usage({"read", "t", "prefix=a", "start=b"}, "either prefix= or start= and end=");
  usage({"read", "t", "versions=0"}, "versions=0");
  usage({"set", "t", "r"}, "needs at least one cell");
  usage({"set", "t", "r", "novalue"}, "'novalue' is not a cell");
  usage({"set", "t", "r", "f:q=v", "durability=never"}, "durability=never");
  usage({"droprows", "t"}, "either prefix= or start= and end=");
  usage({"import", "t", "-"}, "format=csv, jsonl, cellar, dpkg-log or package-list");
  usage({"--bytes", "octal", "ls"}, "none of utf8, hex, base64");
  usage({"--timeout", "soon", "ls"}, "'soon' is not a duration");
  usage({"--addr", "nowhere", "ls"}, "nowhere");
}

using Words = std::vector<std::string>;

// CLI11 takes such a word for a list.
TEST(Program, AWordInBracketsStaysOneWord) {
  const auto positional = [](const Words& words) {
    const auto parsed = parse_invocation(words);
    return parsed ? parsed->arguments.positional() : Words{parsed.error().message};
  };
  EXPECT_EQ(positional({"deleterow", "t", "[abc]"}), (Words{"t", "[abc]"}));
  EXPECT_EQ(positional({"deleterow", "t", "[1,2]"}), (Words{"t", "[1,2]"}));
  EXPECT_EQ(positional({"set", "[t]", "[]", "f:q=[v]"}), (Words{"[t]", "[]", "f:q=[v]"}));
  EXPECT_EQ(positional({"compact", "{}"}), (Words{"{}"}));
  const auto options = parse_invocation(
      {"--addr", "[::1]", "read", "t", "--prefix", "[a,b]", "--regex=[c]", "end=[d]"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->globals.address, "[::1]");
  EXPECT_EQ(options->arguments.get("prefix"), "[a,b]");
  EXPECT_EQ(options->arguments.get("regex"), "[c]");
  EXPECT_EQ(options->arguments.get("end"), "[d]");
  refused({"[x]"}, kUsage, "there is no command '[x]'");
  refused({"gc", "[x]"}, kUsage, "not '[x]'");
}

TEST(Program, AFlagCanBeGivenAsFalse) {
  const auto yes = [](const std::string& word) {
    const auto parsed = parse_invocation({"deletetable", "t", word});
    return parsed ? parsed->arguments.flag("yes") : std::unexpected(parsed.error());
  };
  for (const char* word : {"--yes=false", "--yes=0", "yes=false"}) EXPECT_FALSE(*yes(word)) << word;
  for (const char* word : {"--yes", "--yes=true", "yes="}) EXPECT_TRUE(*yes(word)) << word;
}

TEST(Program, AComplaintIsHarmlessToTheTerminalAndBounded) {
  const Outcome sequences = cellar({"re\x1b]0;x\x07\n\xff"});
  EXPECT_EQ(sequences.code, kUsage);
  EXPECT_NE(sequences.err.find("there is no command 're\\x1b]0;x\\x07\n\\xff'"), std::string::npos)
      << sequences.err;
  for (const char* form : {"--json", "--escaped"}) {
    const Outcome large = cellar({"set", "t", "r", std::string(1u << 20, 'x'), form});
    EXPECT_EQ(large.code, kUsage);
    EXPECT_LT(large.err.size(), 10'000u);
    EXPECT_NE(large.err.find("xxx ... xxx"), std::string::npos);
    EXPECT_NE(large.err.find("is not a cell"), std::string::npos);
  }
}

TEST(Program, WhereNobodyListensItExitsWithFive) {
  const Outcome outcome = cellar({"--addr", "127.0.0.1:1", "ls"});
  EXPECT_EQ(outcome.code, kUnreachable);
  EXPECT_NE(outcome.err.find("cellar: UNAVAILABLE: cannot connect to 127.0.0.1:1"),
            std::string::npos)
      << outcome.err;
}

}  // namespace
}  // namespace cellar::cli
