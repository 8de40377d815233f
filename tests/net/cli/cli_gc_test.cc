// Retention over time through the command line: rules previewed, set, undone, and deaths explained.
#include "tests/net/cli/cli_bed.h"
#include "tests/support/durations.h"

namespace cellar::cli {
namespace {

class CliGc : public ClockedCliBed {
 protected:
  // Table `name`, family f: `rule`; row r has five versions, v5 the newest.
  static void make(const std::string& name, const std::string& rule) {
    good({"createtable", name, "granularity=micros", "families=f:" + rule});
    good({"set", name, "r", "f:q=v1@1", "f:q=v2@2", "f:q=v3@3", "f:q=v4@4", "f:q=v5@5"});
  }
  static std::string values(const std::string& table) {
    std::string out = cellar({"lookup", table, "r"}).out;
    std::string found;
    for (size_t at = 0; (at = out.find("Z  v", at)) != out.npos; at += 4) found += out[at + 4];
    return found;
  }
};

TEST_F(CliGc, ARuleIsShownAskedForSetAndUndone) {
  make("docs", "maxversions=3");
  EXPECT_EQ(values("docs"), "543");
  const std::string preview = good({"gc", "preview", "docs", "f", "maxversions=1"});
  EXPECT_EQ(preview.find("maxversions=1\n  would die  2 cells ("), 0u) << preview;
  EXPECT_NE(preview.find(") in 1 row\n  of         3 cells in 1 row\n  such as    r\n"
                         "  undo       for 1d nothing is lost, see gc undo\n"),
            std::string::npos)
      << preview;
  EXPECT_EQ(values("docs"), "543") << "it was only looked at";

  const Outcome no = at_terminal({"gc", "set", "docs", "f", "maxversions=1"}, "no\n");
  EXPECT_EQ(no.code, kFailed);
  EXPECT_NE(no.out.find("would die  2 cells"), std::string::npos) << no.out;
  EXPECT_NE(no.out.find("Set it? [y/N] nothing was changed\n"), std::string::npos) << no.out;
  EXPECT_EQ(values("docs"), "543");

  const Outcome yes = at_terminal({"gc", "set", "docs", "f", "maxversions=1"}, "y\n");
  EXPECT_EQ(yes.code, kDone) << yes.out;
  EXPECT_NE(yes.out.find("the rule of f is maxversions=1\nuntil "), std::string::npos) << yes.out;
  EXPECT_NE(yes.out.find(": cellar gc undo docs f goes back to maxversions=3\n"), std::string::npos)
      << yes.out;
  EXPECT_EQ(values("docs"), "5");

  const std::string shown = good({"gc", "show", "docs", "f"});
  EXPECT_NE(shown.find("f       maxversions=1  time"), std::string::npos) << shown;
  EXPECT_NE(shown.find("SINCE"), std::string::npos) << shown;
  EXPECT_NE(shown.find("  maxversions=3\n"), std::string::npos) << shown;
  EXPECT_NE(
      good({"gc", "show", "docs"}).find("Z: cellar gc undo docs f goes back to maxversions=3\n"),
      std::string::npos);
  const std::string json = good({"gc", "show", "docs", "--json"});
  EXPECT_NE(json.find("\"history\":[{\"rule\":\"maxversions=1\",\"since_us\":"), std::string::npos)
      << json;

  EXPECT_EQ(good({"gc", "undo", "docs", "f"}), "the rule of f is maxversions=3\n");
  EXPECT_EQ(values("docs"), "543");
  refused({"gc", "undo", "docs", "f"}, kFailed, "FAILED_PRECONDITION");
  good({"gc", "set", "docs", "f", "maxversions=4", "--yes"});
  EXPECT_EQ(values("docs"), "543") << "what was dead stays dead";
}

TEST_F(CliGc, AfterTheWindowAChangeStands) {
  make("stands", "maxversions=3");
  good({"setgcpolicy", "stands", "f", "maxversions=2", "--yes"});
  pass_us(24 * kHourUs + 1);
  refused({"gc", "undo", "stands", "f"}, kFailed, "FAILED_PRECONDITION");
  EXPECT_EQ(values("stands"), "54");
}

TEST_F(CliGc, AFamilyWithoutAnUndoWindowIsWarnedOf) {
  make("sharp", "maxversions=3");
  good({"alterfamily", "sharp", "f", "undo-window=0s"});
  EXPECT_NE(good({"gc", "preview", "sharp", "f", "maxversions=1"})
                .find("  undo       cannot be undone\n"),
            std::string::npos);
  EXPECT_EQ(good({"gc", "preview", "sharp", "f", "never"}), "never: nothing would die\n");
}

TEST_F(CliGc, ARuleNeedsNoQuotesAndForProgramsThereIsJson) {
  make("words", "never");
  const std::string json = good({"gc", "set", "words", "f", "maxage=9000d", "or", "(maxversions=2",
                                 "and", "maxage=1d)", "--yes", "--json"});
  EXPECT_NE(json.find("{\"table\":\"words\",\"family\":\"f\",\"rule\":\"maxage=9000d or "
                      "(maxversions=2 and maxage=1d)\",\"cells\":5,\"bytes\":"),
            std::string::npos)
      << json;
  EXPECT_NE(json.find("\"approximate\":false,\"samples\":[{\"row\":\"r\"}]}\n{\"ok\":true,"),
            std::string::npos)
      << json;
  const std::string about = good({"gc", "preview", "words", "f", "never", "--approximate"});
  EXPECT_NE(about.find("never: nothing would die"), std::string::npos) << about;
  refused({"gc", "preview", "words", "f", "maxage=1d", "samples=1001"}, kUsage, "more than 1000");
  refused({"gc", "preview", "words", "g", "maxage=1d"}, kNotFound, "family 'g'");
  refused({"gc", "show", "words", "g"}, kNotFound, "no family 'g'");
  refused({"gc", "set", "words", "f", "maxage=1d"}, kUsage, "add --yes");
}

TEST_F(CliGc, TheFateOfACellIsToldWithItsClause) {
  good({"createtable", "fates", "families=f:maxage=2d or maxversions=2"});
  good({"set", "fates", "r", "f:q=a@-3h", "f:q=b@-2h", "f:q=c@-1h"});
  good({"set", "fates", "r", "f:own=d", "ttl=1h"});
  const std::string text = good({"gc", "explain", "fates", "r"});
  const auto has = [&](std::string_view part) {
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  };
  has("  c  dies ");
  has("(in 1 d 23 h) by maxage=2d\n");
  has("  a  dead since ");
  has("pushed out by maxversions=2\n");
  has("  d  dies ");
  has("(in 1 h 00 min) by its own expiry\n");

  EXPECT_EQ(good({"lookup", "fates", "r"}).find("dies"), std::string::npos);
  EXPECT_NE(good({"lookup", "fates", "r", "--explain"}).find("by maxage=2d"), std::string::npos);
  EXPECT_EQ(good({"read", "fates", "--explain"}).find("dead since"), std::string::npos);
  EXPECT_NE(good({"read", "fates", "--include-dead"}).find("dead since"), std::string::npos);
  const std::string json = good({"read", "fates", "--include-dead", "--json"});
  EXPECT_NE(json.find("\"dead\":true,\"dies_at\":"), std::string::npos) << json;
  EXPECT_NE(json.find("\"cause\":\"max_versions\",\"clause\":\"maxversions=2\"}"),
            std::string::npos)
      << json;

  good({"deletecolumn", "fates", "r", "f:own"});
  EXPECT_NE(good({"gc", "explain", "fates", "r", "columns=f:own"}).find(": deleted\n"),
            std::string::npos);
  good({"gc", "set", "fates", "f", "maxversions=1", "--yes"});
  const std::string hidden = good({"gc", "explain", "fates", "r", "columns=f:q"});
  EXPECT_NE(hidden.find("hidden by maxversions=1, comes back if that is undone\n"),
            std::string::npos)
      << hidden;
  refused({"gc", "explain", "fates", "absent"}, kNotFound, "has no cells, dead ones included");
}

// A read of the newest version of a column leaves older runs closed; a read of the row does not.
TEST_F(CliGc, ExplainTellsHowManyRunsAReadOpens) {
  good({"createtable", "runs", "families=f:maxversions=4"});
  good({"set", "runs", "r", "f:q=old@1000", "f:p=old@1000"});
  EXPECT_EQ(good({"lookup", "runs", "r", "--explain", "--json"}).find("\"runs\""),
            std::string::npos);
  good({"flush", "runs"});
  good({"set", "runs", "r", "f:q=new@2000"});
  good({"flush", "runs"});
  const std::string newest =
      good({"lookup", "runs", "r", "columns=f:q", "versions=1", "--explain", "--json"});
  EXPECT_NE(newest.find("],\"runs\":2,\"runs_opened\":1}\n"), std::string::npos) << newest;
  const std::string all = good({"lookup", "runs", "r", "--explain", "--json"});
  EXPECT_NE(all.find("],\"runs\":2,\"runs_opened\":2}\n"), std::string::npos) << all;
  EXPECT_EQ(good({"lookup", "runs", "r", "--json"}).find("\"runs\""), std::string::npos);
}

}  // namespace
}  // namespace cellar::cli
