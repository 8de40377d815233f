// Rows through the command line: written, read, deleted, in every form of bytes.

#include "net/cli/text/times.h"
#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

class CliRows : public CliBed {
 protected:
  // "committed at TIME" instead of the time.
  static std::string without_commit_time(std::string text) {
    const std::string words = "committed at ";
    const size_t at = text.find(words);
    if (at == text.npos) return text;
    const size_t begin = at + words.size();
    EXPECT_TRUE(parse_time(text.substr(begin, text.find('\n', begin) - begin), 0)) << text;
    return text.replace(begin, text.find('\n', begin) - begin, "TIME");
  }
};

TEST_F(CliRows, AWriteTellsWhatItHasWritten) {
  good({"createtable", "told", "families=f"});
  EXPECT_EQ(without_commit_time(good({"set", "told", "r", "f:a=1@2026-01-02T03:04:05.006Z",
                                      "f:b=me@example.org", "ttl=90m"}))
                .substr(0, 61),
            "r\n"
            "  set f:a  2026-01-02T03:04:05.006Z  1  ttl 90m\n"
            "  set f:b  ");
  const std::string stamped = good({"set", "told", "r", "f:b=me@example.org"});
  EXPECT_NE(stamped.find("Z  me@example.org\ncommitted at "), stamped.npos) << stamped;
  EXPECT_EQ(without_commit_time(good({"set", "told", "r", "f:a=" + std::string(70, 'x'),
                                      "at=1970-01-01", "expire-at=9000-01-01"})),
            "r\n  set f:a  1970-01-01T00:00:00Z  " + std::string(60, 'x') +
                "...  expires at 9000-01-01T00:00:00Z\ncommitted at TIME\n");
  EXPECT_EQ(without_commit_time(
                good({"deletecolumn", "told", "r", "f:a", "start=1970-01-01", "end=1970-01-02"})),
            "r\n  deleted f:a, versions from 1970-01-01T00:00:00Z to before 1970-01-02T00:00:00Z\n"
            "committed at TIME\n");
  const std::string json = good({"set", "told", "r", "f:a=1@5000", "f:c=2", "--json"});
  EXPECT_TRUE(json.starts_with("{\"ok\":true,\"row\":\"r\",\"operations\":2,\"commit_stamp\":\"1"))
      << json;
  EXPECT_NE(json.find("\",\"timestamp\":1"), json.npos) << json;
}

TEST_F(CliRows, ARowIsWrittenReadAndDeletedColumnByColumn) {
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

TEST_F(CliRows, RowsAreReadByPrefixRangeCountAndBackwards) {
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
  EXPECT_EQ(good({"lookup", "walk", "a1", "--numbers"}), "a1\n  f:q  1000  1@2\n");
  EXPECT_EQ(
      good({"count", "walk", "filter={\"time_range\":{\"end\":\"1970-01-01T00:00:00.002Z\"}}"}),
      "5\n");
  EXPECT_EQ(good({"count", "walk", "filter={\"time_range\":{\"start\":\"1h ago\"}}"}), "0\n");
  refused({"count", "walk", "filter={\"time_range\":{\"start\":\"soon\"}}"}, kUsage,
          "'soon' is not a time");
  EXPECT_EQ(good({"count", "walk"}), "5\n");
  EXPECT_EQ(good({"count", "walk", "prefix=a", "--json"}), "{\"table\":\"walk\",\"rows\":2}\n");
  good({"droprows", "walk", "prefix=a", "--yes"});
  good({"droprows", "walk", "start=b2", "--yes"});
  EXPECT_EQ(good({"read", "walk", "keys-only=true"}), "b1\n");
  good({"droprows", "walk", "prefix=b", "token=once", "--yes"});
  good({"set", "walk", "b3", "f:q=1"});
  good({"droprows", "walk", "start=b", "end=c", "token=once", "--yes"});
  EXPECT_EQ(good({"read", "walk", "keys-only=true"}), "b3\n");
  refused({"droprows", "walk", "prefix=a", "token=once", "--yes"}, kFailed, "INVALID_ARGUMENT");
}

TEST_F(CliRows, BytesThatAreNoTextAreShownAndTakenInEveryForm) {
  good({"createtable", "bytes", "families=f"});
  good({"--escaped", "set", "bytes", "k\\x00", "f:q\\xff=\\xfe", "--at", "1000"});
  EXPECT_EQ(good({"read", "bytes"}), "k\\x00\n  f:q\\xff  1970-01-01T00:00:00.001Z  \\xfe\n");
  EXPECT_EQ(good({"read", "bytes", "--bytes", "hex"}),
            "6b00\n  66:71ff  1970-01-01T00:00:00.001Z  fe\n");
  EXPECT_EQ(good({"read", "bytes", "--json"}),
            "{\"row\":\"k\\u0000\",\"cells\":[{\"family\":\"f\",\"qualifier_base64\":\"cf8=\","
            "\"timestamp\":1000,\"value_base64\":\"/g==\"}]}\n");
  EXPECT_NE(good({"--escaped", "lookup", "bytes", "k\\x00"}), "");
  for (const char* command : {"lookup", "read"}) {
    std::vector<std::string> words = {"--escaped", command, "bytes", "columns=f:q\\xff"};
    if (command == std::string("lookup")) words.insert(words.begin() + 3, "k\\x00");
    EXPECT_EQ(good(words), "k\\x00\n  f:q\\xff  1970-01-01T00:00:00.001Z  \\xfe\n") << command;
  }
}

TEST_F(CliRows, ARowNamedInBracketsIsThatRow) {
  good({"createtable", "brackets", "families=f"});
  good({"set", "brackets", "abc", "f:q=1@1000"});
  good({"set", "brackets", "[abc]", "f:q=2@1000"});
  EXPECT_EQ(good({"read", "brackets", "keys-only=true"}), "[abc]\nabc\n");
  good({"deleterow", "brackets", "[abc]"});
  EXPECT_EQ(good({"read", "brackets", "keys-only=true"}), "abc\n");
}

TEST_F(CliRows, AFlagGivenAsFalseConfirmsNothing) {
  good({"createtable", "kept", "families=f"});
  refused({"deletetable", "kept", "--yes=false"}, kUsage, "add --yes");
  EXPECT_EQ(good({"count", "kept"}), "0\n");
}

TEST_F(CliRows, ARejectedLineCannotSteerTheTerminal) {
  good({"createtable", "steered", "families=f"});
  const Outcome rejected = cellar({"import", "steered", "-", "format=jsonl"},
                                  "{\"row\":\"r\",\"cells\":[],\"\\u001b]0;x\\u0007\":1}\n");
  EXPECT_EQ(rejected.code, kPartial);
  EXPECT_NE(rejected.err.find("\"\\x1b]0;x\\x07\" is no member"), std::string::npos)
      << rejected.err;
  EXPECT_EQ(rejected.err.find('\x1b'), std::string::npos);
}

TEST_F(CliRows, RefusalsOfTheNodeArePassedOnWithTheirCode) {
  good({"createtable", "strict", "families=f"});
  refused({"createtable", "strict"}, kFailed, "cellar: ALREADY_EXISTS: ");
  refused({"ls", "absent"}, kNotFound, "cellar: NOT_FOUND: table 'absent' does not exist");
  refused({"set", "absent", "r", "f:q=v"}, kNotFound, "NOT_FOUND");
  refused({"set", "strict", "r", "g:q=v"}, kNotFound, "family 'g'");
  refused({"set", "strict", "r", "f:q=v@1"}, kFailed, "INVALID_ARGUMENT");
  refused({"set", "strict", "", "f:q=v"}, kFailed, "row key is empty");
  refused({"deletetable", "absent", "--yes"}, kNotFound, "NOT_FOUND");
}

TEST_F(CliRows, AMisspeltTableOrFamilyIsAnsweredWithASimilarName) {
  good({"createtable", "packages", "families=install,remove"});
  refused({"read", "pakages"}, kNotFound,
          "table 'pakages' does not exist; did you mean 'packages'?");
  refused({"set", "packages", "r", "instal:q=v"}, kNotFound, "; did you mean 'install'?");
  const Outcome unlike = cellar({"read", "zzz"});
  EXPECT_EQ(unlike.err, "cellar: NOT_FOUND: table 'zzz' does not exist\n");
}

TEST_F(CliRows, WithJsonErrorsAreObjects) {
  const Outcome absent = cellar({"read", "zzz", "--json"});
  EXPECT_EQ(absent.code, kNotFound);
  EXPECT_EQ(absent.err,
            "{\"error\":{\"code\":\"NOT_FOUND\",\"message\":\"table 'zzz' does not exist\","
            "\"applied\":\"not_applied\"}}\n");
  // Bytes that are not UTF-8 are escaped.
  const Outcome usage = cellar({"--json", "r\xff"});
  EXPECT_EQ(usage.code, kUsage);
  EXPECT_TRUE(usage.err.starts_with("{\"error\":{\"code\":\"INVALID_ARGUMENT\"")) << usage.err;
  EXPECT_NE(usage.err.find("r\\\\xff"), std::string::npos) << usage.err;
}

TEST_F(CliRows, CountersAreIncrementedAndTextsAppendedTo) {
  good({"createtable", "rmw", "families=f"});
  EXPECT_NE(good({"increment", "rmw", "r", "f:a", "f:b=-5"}).find("Z  1\n  f:b"),
            std::string::npos);
  const std::string twice = good({"addtocell", "rmw", "r", "f:a=41", "--json"});
  EXPECT_NE(twice.find("\"value_int64\":42}],\"commit_stamp\":\"1"), std::string::npos) << twice;
  EXPECT_NE(good({"append", "rmw", "r", "f:t=a@b", "f:u=x"}).find("Z  a@b\n"), std::string::npos);
  EXPECT_NE(good({"append", "rmw", "r", "f:t==c"}).find("Z  a@b=c\n"), std::string::npos);
  // Each is a separate run of the program; the token makes them one write.
  const std::string once = good({"increment", "rmw", "r", "f:n", "token=visit 17"});
  const std::string cells = once.substr(0, once.find("committed at "));
  EXPECT_LT(cells.size(), once.size());
  EXPECT_EQ(good({"increment", "rmw", "r", "f:n", "token=visit 17"}),
            cells + "committed before, under the same token\n");
  EXPECT_NE(good({"increment", "rmw", "r", "f:n", "token=visit 18"}), once);
  refused({"increment", "rmw", "r", "f:n=2", "token=visit 17"}, kFailed, "INVALID_ARGUMENT");
  EXPECT_TRUE(good({"deleterow", "rmw", "r", "token=end", "--json"})
                  .starts_with("{\"ok\":true,\"row\":\"r\",\"operations\":1,\"commit_stamp\":\"1"));
  EXPECT_EQ(good({"deleterow", "rmw", "r", "token=end", "--json"}),
            "{\"ok\":true,\"row\":\"r\",\"operations\":1,\"repeated\":true}\n");
  EXPECT_EQ(good({"deleterow", "rmw", "r", "token=end"}),
            "r\n  deleted the row\ncommitted before, under the same token\n");
  refused({"increment", "rmw", "r", "f:a=x"}, kUsage, "'x' is no 64-bit number");
  refused({"increment", "rmw", "r", "f"}, kUsage, "'f' is not a column");
  refused({"increment", "rmw", "r"}, kUsage, "increment needs TABLE ROW");
  good({"set", "rmw", "r", "f:t=text"});
  refused({"increment", "rmw", "r", "f:t"}, kFailed, "FAILED_PRECONDITION");
  refused({"append", "rmw", "r", "f:t"}, kUsage, "'f:t' is not a cell");
}

TEST_F(CliRows, ARowIsChangedUnderACondition) {
  good({"createtable", "cond", "families=f,g"});
  const auto check = [](std::vector<std::string> words) {
    words.insert(words.begin(), {"checkandmutate", "cond", "r"});
    return without_commit_time(good(words));
  };
  EXPECT_EQ(check({"then", "deleterow", "else", "f:state=draft@1000", "f:note=x@1000"}),
            "it does not hold: else\n"
            "r\n"
            "  set f:state  1970-01-01T00:00:00.001Z  draft\n"
            "  set f:note  1970-01-01T00:00:00.001Z  x\n"
            "committed at TIME\n");
  EXPECT_EQ(check({"columns=f:state", "values=draft", "versions=1", "then", "set",
                   "f:state=final@2000", "deletecolumn", "f:note", "else", "g:late=yes"}),
            "it holds: then\n"
            "r\n"
            "  set f:state  1970-01-01T00:00:00.002Z  final\n"
            "  deleted f:note, all versions\n"
            "committed at TIME\n");
  EXPECT_EQ(check({"columns=f:none", "then", "deleterow"}), "it does not hold: else\n");
  EXPECT_EQ(good({"lookup", "cond", "r"}),
            "r\n  f:state  1970-01-01T00:00:00.002Z  final\n"
            "           1970-01-01T00:00:00.001Z  draft\n");
  EXPECT_TRUE(check({"columns=g,f:note", "then", "deleterow", "else", "g:a=1@1000", "--json"})
                  .starts_with("{\"ok\":true,\"matched\":false,\"row\":\"r\",\"operations\":1,"
                               "\"commit_stamp\":\"1"));
  EXPECT_EQ(
      check({"filter={\"family_regex\":\"g\"}", "then", "deletefamily", "f", "set", "g:b=2@1000"}),
      "it holds: then\nr\n  deleted family f\n  set g:b  1970-01-01T00:00:00.001Z  2\n"
      "committed at TIME\n");
  EXPECT_EQ(good({"lookup", "cond", "r"}),
            "r\n  g:a  1970-01-01T00:00:00.001Z  1\n  g:b  1970-01-01T00:00:00.001Z  2\n");
  const auto wrong = [](std::vector<std::string> words, std::string_view expected) {
    words.insert(words.begin(), {"checkandmutate", "cond", "r"});
    refused(words, kUsage, expected);
  };
  wrong({"f:a=1"}, "'f:a=1' stands where then or else should");
  wrong({"then"}, "needs something to do");
  wrong({"then", "deletecolumn", "f"}, "'f' is not a column");
  wrong({"then", "f:a=1", "ttl=1h", "expire-at=now"}, "either ttl= or expire-at=");
}

TEST_F(CliRows, RowsAndTablesMayBeCalledLikeCommands) {
  good({"createtable", "read", "families=set"});
  good({"set", "read", "lookup", "set:count=1@1000"});
  EXPECT_EQ(good({"lookup", "read", "lookup"}),
            "lookup\n  set:count  1970-01-01T00:00:00.001Z  1\n");
}

}  // namespace
}  // namespace cellar::cli
