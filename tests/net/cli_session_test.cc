// The program as a user meets it: words in, text and an exit code out, against a real node in this
// process.
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "net/cli/app.h"
#include "net/cli/checkpoint.h"
#include "net/cli/complete.h"
#include "net/cli/import_plan.h"
#include "net/server/server.h"

namespace cellar::cli {
namespace {

struct Outcome {
  int code = 0;
  std::string out;
  std::string err;
};

std::string contents(std::FILE* file) {
  std::fflush(file);
  std::rewind(file);
  std::string text;
  for (int c = std::getc(file); c != EOF; c = std::getc(file)) text.push_back(static_cast<char>(c));
  std::fclose(file);
  return text;
}

// Runs the program with `words`, and `input` as its standard input.
Outcome cellar(std::vector<std::string> words, std::string input = {}) {
  Console console;
  console.out = std::tmpfile();
  console.err = std::tmpfile();
  console.in = std::tmpfile();
  std::fwrite(input.data(), 1, input.size(), console.in);
  std::rewind(console.in);
  Outcome outcome;
  outcome.code = run(words, console);
  outcome.out = contents(console.out);
  outcome.err = contents(console.err);
  return outcome;
}

// ---- without a node ----

TEST(Program, HelpIsAsItWasAgreed) {
  std::string all = cellar({"--help"}).out;
  for (const CommandSpec& spec : commands()) {
    const Outcome help = cellar({spec.name, "--help"});
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
    EXPECT_TRUE(offers({}, spec.name, spec.name)) << spec.name;
    for (const KeySpec& key : spec.keys) {
      EXPECT_FALSE(key.help.empty()) << spec.name << " " << key.name;
      EXPECT_TRUE(offers({spec.name}, "--" + key.name, "--" + key.name)) << spec.name;
      for (const char* closed : {"LEVEL", "UNIT", "ZONE", "BOOL", "FORM"}) {
        if (key.value == closed) EXPECT_FALSE(choices_of(key).empty()) << spec.name << key.name;
      }
    }
    EXPECT_EQ(cellar({spec.name, "--help"}).code, kDone);
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
  usage({"read"}, "read needs TABLE");
  usage({"read", "t", "cuont=1"}, "did you mean count=?");
  usage({"read", "t", "--cuont", "1"}, "--cuont");
  usage({"read", "t", "count=x"}, "count=x is not a whole number");
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

TEST(Program, WhereNobodyListensItExitsWithFive) {
  const Outcome outcome = cellar({"--addr", "127.0.0.1:1", "ls"});
  EXPECT_EQ(outcome.code, kUnreachable);
  EXPECT_NE(outcome.err.find("cellar: UNAVAILABLE: cannot connect to 127.0.0.1:1"),
            std::string::npos)
      << outcome.err;
}

// ---- with one ----

class SessionTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    dir_ = std::filesystem::temp_directory_path() / fmt::format("cellar-cli-{}", ::getpid());
    std::filesystem::create_directories(dir_);
    server::ServerOptions options;
    options.data_dir = (dir_ / "data").string();
    options.listen = "127.0.0.1:0";
    options.shards = 1;
    options.pin = false;
    auto started = server::Server::start(options, clock_);
    ASSERT_TRUE(started.has_value()) << started.error().to_string();
    server_ = *std::move(started);
    ::setenv("CELLAR_ADDR", server_->address().c_str(), 1);
  }
  static void TearDownTestSuite() {
    ASSERT_TRUE(server_->stop().has_value());
    server_.reset();
    std::filesystem::remove_all(dir_);
  }
  static std::string write_file(const std::string& name, const std::string& text) {
    const std::string path = (dir_ / name).string();
    std::ofstream(path) << text;
    return path;
  }
  // Runs it and expects it to work.
  static std::string good(std::vector<std::string> words, std::string input = {}) {
    const Outcome outcome = cellar(words, std::move(input));
    EXPECT_EQ(outcome.code, kDone) << words[0] << ": " << outcome.err;
    return outcome.out;
  }

  static inline SystemClock clock_;
  static inline std::filesystem::path dir_;
  static inline std::unique_ptr<server::Server> server_;
};

TEST_F(SessionTest, ARowIsWrittenReadAndDeletedColumnByColumn) {
  good({"createtable", "notes", "families=text,meta"});
  good({"set", "notes", "today", "text:title=hello", "text:title=older@2026-01-01T00:00:00Z",
        "meta:mail=bob@example.org@5000", "text:title=newer@2026-01-02T00:00:00Z",
        "text:when=x@2026-01-01"});
  good({"deletecolumn", "notes", "today", "text:title", "start=2026-06-01"});
  EXPECT_EQ(good({"lookup", "notes", "today"}),
            "today\n"
            "  meta:mail   1970-01-01T00:00:00.005Z  bob@example.org\n"
            "  text:title  2026-01-02T00:00:00Z      newer\n"
            "              2026-01-01T00:00:00Z      older\n"
            "  text:when   2026-01-01T00:00:00Z      x\n");
  EXPECT_EQ(good({"lookup", "notes", "today", "versions=1", "columns=text:title", "--json"}),
            "{\"row\":\"today\",\"cells\":[{\"family\":\"text\",\"qualifier\":\"title\","
            "\"timestamp\":1767312000000000,\"value\":\"newer\"}]}\n");
  EXPECT_EQ(good({"lookup", "notes", "today", "since=2026-01-01", "until=2026-01-02",
                  "columns=text:title"}),
            "today\n  text:title  2026-01-01T00:00:00Z  older\n");
  good({"deletefamily", "notes", "today", "meta"});
  good({"deletecolumn", "notes", "today", "text:when"});
  EXPECT_EQ(good({"lookup", "notes", "today", "versions=1"}),
            "today\n  text:title  2026-01-02T00:00:00Z  newer\n");
  good({"deleterow", "notes", "today"});
  const Outcome gone = cellar({"lookup", "notes", "today"});
  EXPECT_EQ(gone.code, kNotFound);
  EXPECT_EQ(gone.err, "cellar: NOT_FOUND: row 'today' of table 'notes' has no cells\n");
}

TEST_F(SessionTest, FamiliesComeAndGoAndOptionsChange) {
  good({"createtable", "change", "families=f", "splits=m"});
  const auto lookup = [] { return good({"lookup", "change", "a"}); };
  EXPECT_EQ(cellar({"set", "change", "a", "g:q=1"}).code, kNotFound);
  good({"createfamily", "change", "g"});
  good({"set", "change", "a", "--at", "1000", "f:q=1", "g:q=2"});
  EXPECT_EQ(lookup(),
            "a\n  f:q  1970-01-01T00:00:00.001Z  1\n  g:q  1970-01-01T00:00:00.001Z  2\n");
  good({"dropfamily", "change", "g"});
  EXPECT_EQ(lookup(), "a\n  f:q  1970-01-01T00:00:00.001Z  1\n");
  EXPECT_EQ(good({"createfamily", "change", "g", "--json"}),
            "{\"ok\":true,\"table\":\"change\"}\n");
  EXPECT_EQ(lookup(), "a\n  f:q  1970-01-01T00:00:00.001Z  1\n") << "it comes back empty";
  good(
      {"altertable", "change", "durability=periodic", "--compression", "none", "block-bytes=8192"});
  const std::string table = good({"ls", "change"});
  EXPECT_NE(table.find("durability   periodic"), std::string::npos) << table;
  EXPECT_NE(table.find("none, blocks of 8"), std::string::npos) << table;
  EXPECT_NE(table.find("version 5"), std::string::npos) << table;

  const auto refused = [](std::vector<std::string> words, int code, std::string_view expected) {
    const Outcome outcome = cellar(std::move(words));
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
  };
  refused({"createfamily", "change", "g"}, kFailed, "ALREADY_EXISTS");
  refused({"createfamily", "absent", "g"}, kNotFound, "NOT_FOUND");
  refused({"dropfamily", "change", "h"}, kNotFound, "no family 'h'");
  refused({"altertable", "change"}, kUsage, "durability=, compression= or block-bytes=");
  refused({"altertable", "change", "durability=never"}, kUsage, "durability=never");
  refused({"altertable", "change", "compression=zip"}, kUsage, "compression=zip");
  refused({"altertable", "change", "block-bytes=1"}, kFailed, "INVALID_ARGUMENT");
  refused({"deletefamily", "change", "g"}, kUsage, "deletefamily needs TABLE ROW FAMILY");
}

TEST_F(SessionTest, SampleKeysShowsWhereATableIsCut) {
  good({"createtable", "cuts", "families=f", "splits=g,p"});
  EXPECT_EQ(good({"samplekeys", "cuts"}),
            "UP TO       BYTES BEFORE\ng           0\np           0\n(last row)  0\n");
  good({"set", "cuts", "h", "f:q=" + std::string(3'000, 'x')});
  const std::string lines = good({"samplekeys", "cuts", "--json"});
  EXPECT_NE(lines.find("{\"key\":\"g\",\"bytes_before\":0}\n{\"key\":\"p\",\"bytes_before\":"),
            std::string::npos)
      << lines;
  EXPECT_EQ(lines.find("\"p\",\"bytes_before\":0}"), std::string::npos) << lines;
  EXPECT_EQ(cellar({"samplekeys", "absent"}).code, kNotFound);
}

TEST_F(SessionTest, RowsAreReadByPrefixRangeCountAndBackwards) {
  good({"createtable", "walk", "--family", "f", "--family", "g", "splits=b"});
  for (const char* row : {"a1", "a2", "b1", "b2", "c1"}) {
    good({"set", "walk", row, "--at", "1000", "f:q=1@2"});
  }
  EXPECT_EQ(good({"read", "walk", "keys-only=true"}), "a1\na2\nb1\nb2\nc1\n");
  EXPECT_EQ(good({"read", "walk", "prefix=b", "keys-only=true"}), "b1\nb2\n");
  EXPECT_EQ(good({"read", "walk", "start=a2", "end=b2", "--keys-only", "yes"}), "a2\nb1\n");
  EXPECT_EQ(good({"read", "walk", "count=2", "reversed=true", "keys-only=true"}), "c1\nb2\n");
  EXPECT_EQ(good({"read", "walk", "count=1"}), "a1\n  f:q  1970-01-01T00:00:00.001Z  1@2\n");
  EXPECT_EQ(good({"read", "walk", "columns=g", "count=1"}), "");
  EXPECT_EQ(good({"count", "walk"}), "5\n");
  EXPECT_EQ(good({"count", "walk", "prefix=a", "--json"}), "{\"table\":\"walk\",\"rows\":2}\n");
  good({"droprows", "walk", "prefix=a"});
  good({"droprows", "walk", "start=b2"});
  EXPECT_EQ(good({"read", "walk", "keys-only=true"}), "b1\n");
}

TEST_F(SessionTest, BytesThatAreNoTextAreShownAndTakenInEveryForm) {
  good({"createtable", "bytes", "families=f"});
  good({"--escaped", "set", "bytes", "k\\x00", "f:q\\xff=\\xfe", "--at", "1000"});
  EXPECT_EQ(good({"read", "bytes"}), "k\\x00\n  f:q\\xff  1970-01-01T00:00:00.001Z  \\xfe\n");
  EXPECT_EQ(good({"read", "bytes", "--bytes", "hex"}),
            "6b00\n  66:71ff  1970-01-01T00:00:00.001Z  fe\n");
  EXPECT_EQ(good({"read", "bytes", "--json"}),
            "{\"row\":\"k\\u0000\",\"cells\":[{\"family\":\"f\",\"qualifier_base64\":\"cf8=\","
            "\"timestamp\":1000,\"value_base64\":\"/g==\"}]}\n");
  EXPECT_NE(good({"--escaped", "lookup", "bytes", "k\\x00"}), "");
}

TEST_F(SessionTest, RefusalsOfTheNodeArePassedOnWithTheirCode) {
  good({"createtable", "strict", "families=f"});
  const auto refused = [](std::vector<std::string> words, int code, std::string_view expected) {
    const Outcome outcome = cellar(std::move(words));
    EXPECT_EQ(outcome.code, code) << outcome.err;
    EXPECT_NE(outcome.err.find(expected), std::string::npos) << outcome.err;
  };
  refused({"createtable", "strict"}, kFailed, "cellar: ALREADY_EXISTS: ");
  refused({"ls", "absent"}, kNotFound, "cellar: NOT_FOUND: table 'absent' does not exist");
  refused({"set", "absent", "r", "f:q=v"}, kNotFound, "NOT_FOUND");
  refused({"set", "strict", "r", "g:q=v"}, kNotFound, "family 'g'");
  refused({"set", "strict", "r", "f:q=v@1"}, kFailed, "INVALID_ARGUMENT");
  refused({"set", "strict", "", "f:q=v"}, kFailed, "row key is empty");
  refused({"deletetable", "absent"}, kNotFound, "NOT_FOUND");
}

TEST_F(SessionTest, AFamilyIsAddedAndRemoved) {
  good({"createtable", "grows", "families=a"});
  good({"createfamily", "grows", "b"});
  good({"set", "grows", "r", "b:q=v", "a:q=w", "--at", "1000"});
  good({"dropfamily", "grows", "a"});
  EXPECT_EQ(good({"read", "grows"}), "r\n  b:q  1970-01-01T00:00:00.001Z  v\n");
  EXPECT_EQ(cellar({"set", "grows", "r", "a:q=w"}).code, kNotFound);
}

TEST_F(SessionTest, TablesAndTheNodeDescribeThemselves) {
  good({"createtable", "shown", "families=a,b", "splits=m", "granularity=micros",
        "durability=periodic"});
  const std::string text = good({"ls", "shown"});
  EXPECT_NE(text.find("  families     a, b\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  granularity  micros\n"), std::string::npos) << text;
  EXPECT_NE(text.find("  durability   periodic\n"), std::string::npos) << text;
  EXPECT_NE(text.find("(first row)  m"), std::string::npos) << text;
  EXPECT_NE(good({"ls"}).find("shown"), std::string::npos);
  EXPECT_NE(good({"ls", "--json"}).find("{\"table\":\"shown\","), std::string::npos);
  good({"flush", "shown"});
  good({"compact", "shown"});
  good({"deletetable", "shown"});
  EXPECT_NE(good({"info"}).find("SHARD"), std::string::npos);
  EXPECT_NE(good({"info", "--json"}).find("\"io_backend\""), std::string::npos);
  EXPECT_NE(good({"ping", "count=2"}).find("answered in"), std::string::npos);
}

TEST_F(SessionTest, WhatReadPrintsAsJsonImportTakesBack) {
  const std::string log = write_file("dpkg.log",
                                     "2025-06-24 14:36:25 startup archives unpack\n"
                                     "2025-06-24 14:36:25 install libc6:amd64 <none> 2.36-9\n"
                                     "2025-06-24 14:36:26 status installed libc6:amd64 2.36-9\n"
                                     "2025-06-24 14:36:26 status installed libc6:amd64 2.36-9\n");
  const std::string said = good({"import", "packages", log, "--create", "tz=utc"});
  EXPECT_NE(said.find("4 records"), std::string::npos) << said;
  EXPECT_NE(said.find("4 cells written"), std::string::npos) << said;
  EXPECT_EQ(good({"lookup", "packages", "libc6"}),
            "libc6\n"
            "  install:amd64     2025-06-24T14:36:25Z      2.36-9\n"
            "  status:installed  2025-06-24T14:36:26.001Z  2.36-9\n"
            "                    2025-06-24T14:36:26Z      2.36-9\n");
  const std::string rows = good({"read", "packages", "--json"});
  const std::string copy = write_file("copy.jsonl", rows);
  good({"import", "copied", copy, "--create"});
  EXPECT_EQ(good({"read", "copied", "--json"}), rows);
}

TEST_F(SessionTest, ImportNamesTheLinesThatItRejectsAndLoadsTheRest) {
  good({"createtable", "partial", "families=f"});
  const Outcome outcome =
      cellar({"import", "partial", "-", "--format=csv", "name-errors=3"},
             "id,f:a,g:b\nr1,1,\nr2,1,x\nr3\nr4,\"1\n2\",\n,1,\nr6,,y\nr7,1,\n");
  EXPECT_EQ(outcome.code, kPartial);
  EXPECT_NE(outcome.err.find("line 4: INVALID_ARGUMENT: 1 fields where the header has 3"),
            std::string::npos)
      << outcome.err;
  EXPECT_NE(outcome.err.find("line 3: NOT_FOUND: "), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("further lines are only counted"), std::string::npos);
  EXPECT_NE(outcome.out.find("; 4 rejected"), std::string::npos) << outcome.out;
  EXPECT_EQ(good({"read", "partial", "keys-only=true"}), "r1\nr4\nr7\n");
}

TEST_F(SessionTest, ALargeImportIsWholeAndATableWithMicrosecondsIsMadeForIt) {
  std::string lines;
  for (int i = 0; i < 20'000; ++i) {
    lines += fmt::format(
        "{{\"row\":\"row{:05}\",\"cells\":[{{\"family\":\"f\",\"qualifier\":\"q\",\"timestamp\":{},"
        "\"value\":\"{}\"}}]}}\n",
        i, 1001 + i, std::string(100, 'x'));
  }
  good({"import", "large", write_file("large.jsonl", lines), "--create"});
  EXPECT_EQ(good({"count", "large"}), "20000\n");
  EXPECT_NE(good({"ls", "large"}).find("micros"), std::string::npos);
}

TEST_F(SessionTest, AnImportStopsAtTheBoundOfRejectedLines) {
  good({"createtable", "bounded", "families=f"});
  const Outcome outcome = cellar({"import", "bounded", "-", "format=csv", "max-errors=2"},
                                 "id,f:a\nr1,1\nr2\nr3\nr4\nr5,1\n");
  EXPECT_EQ(outcome.code, kFailed);
  EXPECT_NE(outcome.err.find("more than 2 lines were rejected"), std::string::npos) << outcome.err;
  EXPECT_NE(outcome.err.find("stopped at line 5"), std::string::npos) << outcome.err;
}

TEST_F(SessionTest, KeysAndValuesAreTakenAndShownInEveryForm) {
  good({"createtable", "forms", "families=f"});
  good({"set", "forms", "int64:7", "f:hex:ff=base64:AP8=", "f:n=int64:-5", "f:t=raw:hex:00",
        "f:e=esc:a\\tb", "--at", "1000"});
  EXPECT_EQ(good({"read", "forms", "--key-format", "int64"}),
            "7\n"
            "  f:e     1970-01-01T00:00:00.001Z  a\\tb\n"
            "  f:n     1970-01-01T00:00:00.001Z  \\xff\\xff\\xff\\xff\\xff\\xff\\xff\\xfb\n"
            "  f:t     1970-01-01T00:00:00.001Z  hex:00\n"
            "  f:\\xff  1970-01-01T00:00:00.001Z  \\x00\\xff\n");
  EXPECT_EQ(good({"lookup", "forms", "hex:0000000000000007", "columns=f:n", "--value-format",
                  "int64", "--key-format", "hex"}),
            "0000000000000007\n  f:n  1970-01-01T00:00:00.001Z  -5\n");
  EXPECT_EQ(good({"lookup", "forms", "int64:7", "columns=f:hex:ff", "--value-format", "int64"}),
            "\\x00\\x00\\x00\\x00\\x00\\x00\\x00\\x07\n"
            "  f:\\xff  1970-01-01T00:00:00.001Z  hex:00ff\n");
  EXPECT_EQ(good({"lookup", "forms", "int64:7", "columns=f:n", "--key-format", "int64",
                  "--value-format", "int64", "--json"}),
            "{\"row_int64\":7,\"cells\":[{\"family\":\"f\",\"qualifier\":\"n\","
            "\"timestamp\":1000,\"value_int64\":-5}]}\n");
  const Outcome wrong = cellar({"lookup", "forms", "hex:0"});
  EXPECT_EQ(wrong.code, kUsage);
  EXPECT_NE(wrong.err.find("raw:hex:0"), std::string::npos) << wrong.err;

  // Out and back in every form of file and of bytes.
  const std::string whole = good({"export", "forms"});
  for (const char* format : {"csv", "jsonl", "cellar"}) {
    for (const char* form : {"utf8", "hex", "base64", "int64"}) {
      const std::string table = fmt::format("{}_{}", format, form);
      const std::string path = (dir_ / fmt::format("{}.{}", table, format)).string();
      good({"export", "forms", path, "--bytes", form});
      good({"import", table, path, "--create"});
      EXPECT_EQ(good({"export", table}), whole) << path;
    }
  }
}

TEST_F(SessionTest, APlainCsvIsLoadedIntoOneFamily) {
  const std::string path =
      write_file("plain.csv", "code,name,note\nde,Germany,\nfr,France,\"a,b\"\n");
  const Outcome without = cellar({"import", "plain", path, "--create"});
  EXPECT_EQ(without.code, kFailed);
  EXPECT_NE(without.err.find("'name' is not a column"), std::string::npos) << without.err;
  EXPECT_NE(without.err.find("family=NAME"), std::string::npos) << without.err;
  good({"import", "plain", path, "--create", "family=c", "--at", "1000"});
  EXPECT_EQ(good({"lookup", "plain", "fr"}),
            "fr\n  c:name  1970-01-01T00:00:00.001Z  France\n"
            "  c:note  1970-01-01T00:00:00.001Z  a,b\n");
}

TEST_F(SessionTest, AnExportChoosesRowsFamiliesAndTimes) {
  good({"createtable", "chosen", "families=f,g"});
  for (const char* row : {"a", "b1", "b2", "c"}) {
    good({"set", "chosen", row, "f:q=1@1000", "f:q=2@2000", "g:q=3@3000"});
  }
  EXPECT_EQ(good({"export", "chosen", "format=csv", "prefix=b", "columns=f", "versions=1"}),
            "row,family,qualifier,timestamp,value\nb1,f,q,2000,2\nb2,f,q,2000,2\n");
  EXPECT_EQ(good({"export", "chosen", "-", "--format", "csv", "start=b2", "until=2000"}),
            "row,family,qualifier,timestamp,value\nb2,f,q,1000,1\nc,f,q,1000,1\n");
  EXPECT_EQ(good({"export", "chosen", "columns=none"}), "");
  EXPECT_EQ(cellar({"export", "absent"}).code, kNotFound);
  EXPECT_EQ(cellar({"export", "chosen", "format=dpkg-log"}).code, kUsage);
  EXPECT_EQ(cellar({"export", "chosen", "-", "--resume"}).code, kUsage);
}

TEST_F(SessionTest, ADamagedExportFileIsRefusedFromTheDamageOn) {
  good({"createtable", "damaged", "families=f"});
  good({"set", "damaged", "r", "f:q=v", "--at", "1000"});
  const std::string path = (dir_ / "damaged.cellar").string();
  good({"export", "damaged", path});
  std::ifstream in(path, std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(in)), {});
  bytes[bytes.size() - 30] ^= 1;  // in the rows
  write_file("damaged.cellar", bytes);
  const Outcome outcome = cellar({"import", "damaged", path});
  EXPECT_EQ(outcome.code, kDamaged);
  EXPECT_NE(outcome.err.find("DATA_LOSS: the frame at byte "), std::string::npos) << outcome.err;
}

TEST_F(SessionTest, AnImportGoesOnFromItsCheckpointAndOnlyWithItsOwnFile) {
  std::string lines;
  for (int i = 0; i < 2'000; ++i) {
    lines += fmt::format(
        "{{\"row\":\"row{:05}\",\"cells\":[{{\"family\":\"f\",\"value\":\"{}\"}}]}}\n", i, i);
  }
  const std::string bad = "not json\n";
  good({"createtable", "gone_on", "families=f"});
  const std::string path = write_file("gone_on.jsonl", lines + bad + lines);
  EXPECT_EQ(cellar({"import", "gone_on", path, "max-errors=0", "--resume"}).code, kPartial)
      << "without a checkpoint it begins at the beginning";
  // A checkpoint behind the first half: the second half alone is read.
  const ImportIdentity identity = [&] {
    Console console;
    const auto session = make_session({}, console);
    auto plan = make_import_plan(
        *session, *Arguments::parse(*std::ranges::find(commands(), "import", &CommandSpec::name),
                                    {"gone_on", path}, {}));
    EXPECT_TRUE(open_input(*session, *plan));
    return plan->identity;
  }();
  const std::string checkpoint = checkpoint_path(path, "gone_on");
  ASSERT_TRUE(
      write_checkpoint(checkpoint, identity, {{lines.size() + bad.size(), 2001}, {}, 5000}));
  const Outcome hint = cellar({"import", "gone_on", path, "name-errors=0", "max-errors=0"});
  EXPECT_NE(hint.err.find("--resume goes on from there"), std::string::npos) << hint.err;
  ASSERT_TRUE(
      write_checkpoint(checkpoint, identity, {{lines.size() + bad.size(), 2001}, {}, 5000}));
  const std::string said = good({"import", "gone_on", path, "--resume"});
  EXPECT_NE(said.find("2,000 records"), std::string::npos) << said;
  EXPECT_NE(good({"lookup", "gone_on", "row00001"}).find("00:00:00.005Z"), std::string::npos)
      << "the timestamp of the earlier run";
  EXPECT_FALSE(std::filesystem::exists(checkpoint));

  ASSERT_TRUE(write_checkpoint(checkpoint, identity, {{10, 1}, {}, 5000}));
  write_file("gone_on.jsonl", lines);
  const Outcome changed = cellar({"import", "gone_on", path, "--resume"});
  EXPECT_EQ(changed.code, kFailed);
  EXPECT_NE(changed.err.find("the file has changed"), std::string::npos) << changed.err;
}

TEST_F(SessionTest, AnImportThatCannotBeginSaysWhy) {
  good({"createtable", "begins", "families=f"});
  EXPECT_EQ(cellar({"import", "t", "/nonexistent/x.csv"}).code, kFailed);
  EXPECT_EQ(cellar({"import", "t", dir_.string(), "format=csv"}).code, kFailed);
  const Outcome absent = cellar({"import", "absent", "-", "format=package-list"}, "a\tb\tc\n");
  EXPECT_NE(absent.err.find("table 'absent' does not exist"), std::string::npos) << absent.err;
  EXPECT_NE(absent.code, kDone);
  const Outcome header = cellar({"import", "begins", "-", "format=csv"}, "only\n");
  EXPECT_EQ(header.code, kFailed);
  EXPECT_NE(header.err.find("the header"), std::string::npos) << header.err;
}

}  // namespace
}  // namespace cellar::cli
