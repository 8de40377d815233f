// Indexes through the command line: their arguments, their life on a node, and what is printed.
#include "engine/model/read_spec.h"
#include "net/cli/parse/index_syntax.h"
#include "net/cli/print/cell_explainer.h"
#include "net/cli/print/index_format.h"
#include "net/cli/program/invocation.h"
#include "tests/net/cli/cli_bed.h"

namespace cellar::cli {
namespace {

using client::IndexMatch;
using client::IndexPart;
using client::IndexType;
using client::TighterBase;
using Words = std::vector<std::string>;

// ---- arguments

Arguments arguments_of(Words words) {
  words.insert(words.begin(), "index");
  auto parsed = parse_invocation(words);
  EXPECT_TRUE(parsed) << parsed.error().message;
  return parsed ? parsed->arguments : Arguments();
}

client::IndexSpec spec_of(Words words) {
  words.insert(words.begin(), {"create", "t", "i"});
  const Session session;
  const auto spec = index_spec(session, arguments_of(std::move(words)));
  EXPECT_TRUE(spec) << spec.error().message;
  return spec.value_or(client::IndexSpec());
}

client::ReadIndex read_of(Words words) {
  words.insert(words.begin(), {"read", "t", "i"});
  const Session session;
  const auto read = index_read(session, arguments_of(std::move(words)));
  EXPECT_TRUE(read) << read.error().message;
  return read.value_or(client::ReadIndex());
}

TEST(IndexArguments, ADefinitionIsReadFromWordsInBothStyles) {
  const auto spec =
      spec_of({"--on", "f:q", "--order", "value,time", "--type", "int64", "match=any", "--covered",
               "g:n", "--covered", "f:esc:a\\x00b", "max-age=1d", "tighter-base=refuse"});
  EXPECT_EQ(spec.name, "i");
  EXPECT_EQ(spec.family, "f");
  EXPECT_EQ(spec.qualifier, "q");
  EXPECT_EQ(spec.parts, (std::vector{IndexPart::value, IndexPart::time}));
  EXPECT_EQ(spec.type, IndexType::int64);
  EXPECT_EQ(spec.match, IndexMatch::any);
  EXPECT_EQ(spec.covered, (std::vector<client::IndexColumn>{{"g", "n"}, {"f", {"a\0b", 3}}}));
  EXPECT_EQ(spec.max_age_us, 86'400'000'000);
  EXPECT_EQ(spec.tighter_base, TighterBase::refuse);
}

TEST(IndexArguments, TheDefaultOrderIsByValueOfAColumnAndByTimeOfAFamily) {
  const auto column = spec_of({"on=f:q"});
  EXPECT_EQ(column.parts, std::vector{IndexPart::value});
  EXPECT_FALSE(column.type);
  EXPECT_FALSE(column.max_age_us);
  EXPECT_FALSE(column.tighter_base);
  EXPECT_EQ(column.match, IndexMatch::newest);
  const auto nameless = spec_of({"on=f:"});
  EXPECT_EQ(nameless.qualifier, "");
  const auto family = spec_of({"on=f", "max-age=none"});
  EXPECT_FALSE(family.qualifier);
  EXPECT_EQ(family.parts, std::vector{IndexPart::time});
  EXPECT_FALSE(family.max_age_us);
}

TEST(IndexArguments, FaultsAreNamedBeforeTheNodeIsAsked) {
  const auto wrong = [](const Words& words, std::string_view expected) {
    Words all = {"index"};
    all.insert(all.end(), words.begin(), words.end());
    refused(all, kUsage, expected);
  };
  wrong({"create", "t", "i"}, "index create needs on=FAMILY:QUALIFIER");
  wrong({"create", "t", "i", "on=f:q", "order=values"}, "order=values is none of value, time");
  wrong({"create", "t", "i", "on=f:q", "type=text"}, "type=text is none of bytes, int64");
  wrong({"create", "t", "i", "on=f:q", "match=all"}, "match=all is none of newest, any");
  wrong({"create", "t", "i", "on=f:q", "max-age=2"}, "max-age=");
  wrong({"create", "t", "i", "on=f:q", "tighter-base=no"}, "none of follow, refuse");
  wrong({"create", "t", "i", "on=f:q", "covered=g"}, "'g' is not a column");
  wrong({"create", "t"}, "index create needs TABLE NAME");
  wrong({"alter", "t", "i"}, "index alter needs max-age= or tighter-base=");
  wrong({"drop", "t", "i"}, "add --yes");
  wrong({"read", "t", "i", "values=a"}, "values='a' is no range");
  wrong({"read", "t", "i", "time=1000"}, "'1000' is no range");
  wrong({"read", "t", "i", "time=x.."}, "x");
  wrong({"read", "t", "i", "limit=0"}, "limit=0 is not at least 1");
  wrong({"read", "t", "i", "limit=1", "count=2"}, "either limit= or count=");
  wrong({"read", "t", "i", "filter={\"pass\": true}"}, "add --row");
  wrong({"read", "t", "i", "rows="}, "rows= names no row");
  wrong({"read", "t", "i", "value=hex:0"}, "hexadecimal");
  wrong({"reads", "t"}, "index takes one of ls, describe, create");
}

TEST(IndexArguments, ConditionsOfARead) {
  const auto read =
      read_of({"--value", "int64:-5", "--qualifiers", "a..=b", "--time", "1000..2000", "rows=r1,r2",
               "--range", "a..b", "--range", "x..", "prefix=p", "--row", "--filter",
               "{\"cells_per_row\": 3}", "count=7", "reversed=true", "--explain"});
  EXPECT_EQ(read.index, "i");
  EXPECT_EQ(read.value, std::string("\xff\xff\xff\xff\xff\xff\xff\xfb"));
  ASSERT_TRUE(read.qualifiers);
  EXPECT_EQ(read.qualifiers->start, "a");
  EXPECT_EQ(read.qualifiers->end, "b");
  EXPECT_TRUE(read.qualifiers->end_closed);
  EXPECT_EQ(read.start_us, 1000);
  EXPECT_EQ(read.end_us, 2000);
  EXPECT_EQ(read.keys, (Words{"r1", "r2"}));
  ASSERT_EQ(read.ranges.size(), 3u);
  EXPECT_EQ(read.ranges[0].end, "b");
  EXPECT_FALSE(read.ranges[0].end_closed);
  EXPECT_EQ(read.ranges[1].start, "x");
  EXPECT_FALSE(read.ranges[1].end);
  EXPECT_EQ(read.ranges[2].start, "p");
  EXPECT_EQ(read.ranges[2].end, "q");
  EXPECT_TRUE(read.whole_rows);
  EXPECT_TRUE(read.filter);
  EXPECT_EQ(read.limit, 7);
  EXPECT_TRUE(read.reversed);
  EXPECT_TRUE(read.explain);
}

TEST(IndexArguments, ARangeMayHaveOneEndOrNone) {
  const Session session;
  const auto range = [&](std::string_view text) { return *parse_range(session, text); };
  EXPECT_EQ(range("a..").start, "a");
  EXPECT_FALSE(range("a..").end);
  EXPECT_EQ(range("..b").end, "b");
  EXPECT_FALSE(range("..b").start);
  EXPECT_FALSE(range("..").start || range("..").end);
  EXPECT_EQ(range("..=").end, "");
  EXPECT_TRUE(range("..=").end_closed);
  EXPECT_EQ(range("a..raw:=b").end, "=b");
  EXPECT_EQ(range("hex:00..hex:ff").end, "\xff");
  EXPECT_EQ(range("a,b..c").start, "a,b");
}

// ---- what is printed

client::IndexDescription described() {
  client::IndexDescription index;
  index.index.name = "by_user";
  index.index.family = "f";
  index.index.qualifier = "user";
  index.index.parts = {IndexPart::value, IndexPart::time};
  index.index.type = IndexType::int64;
  index.index.covered = {{"g", "n"}};
  index.index.max_age_us = 86'400'000'000;
  index.index.tighter_base = TighterBase::refuse;
  index.total_bytes = 1000;
  index.done_bytes = 999;
  index.entries = 12'345;
  index.bytes = 2048;
  return index;
}

std::string printed(bool json, const std::function<void(const Session&)>& print) {
  Session session;
  session.json = json;
  session.console.out = std::tmpfile();
  print(session);
  std::fflush(session.console.out);
  std::string text(4096, '\0');
  std::rewind(session.console.out);
  text.resize(std::fread(text.data(), 1, text.size(), session.console.out));
  std::fclose(session.console.out);
  return text;
}

TEST(IndexOutput, AnIndexIsDescribedInWordsAndAsAnObject) {
  client::IndexDescription index = described();
  const auto print = [&](const Session& session) { print_index(session, "events", index); };
  EXPECT_EQ(printed(false, print),
            "by_user of events\n"
            "  on            f:user\n"
            "  order         value,time (int64)\n"
            "  match         newest version\n"
            "  covered       g:n\n"
            "  max age       1d\n"
            "  tighter base  refuse\n"
            "  state         99% built, 999 B of 1000 B; reads are refused until it is ready\n"
            "  entries       12,345 on disk, 2.0 KiB\n");
  EXPECT_EQ(printed(true, print),
            "{\"table\":\"events\",\"index\":\"by_user\",\"family\":\"f\",\"qualifier\":\"user\","
            "\"order\":[\"value\",\"time\"],\"type\":\"int64\",\"match\":\"newest\",\"covered\":"
            "[{\"family\":\"g\",\"qualifier\":\"n\"}],\"max_age_us\":86400000000,\"tighter_base\":"
            "\"refuse\",\"ready\":false,\"done_bytes\":999,\"total_bytes\":1000,\"entries\":12345,"
            "\"bytes\":2048,\"skipped\":0}\n");
  index.ready = true;
  index.skipped = 3;
  EXPECT_NE(printed(false, print).find("  state         ready\n"), std::string::npos);
  EXPECT_NE(printed(false, print).find("  left out      3 cells whose value is not 8 bytes\n"),
            std::string::npos);
}

TEST(IndexOutput, ACheckNamesWhatDiffers) {
  client::IndexCheck told;
  told.rows_seen = 1;
  told.cells = told.entries = told.hits = 2;
  const auto print = [&](const Session& session) { print_index_check(session, {"t", "i"}, told); };
  EXPECT_EQ(printed(false, print), "index i of t finds what a scan finds: 2 cells in 1 row\n");
  told.missing = 1;
  told.wrong = 2;
  told.samples = {"a", "b"};
  EXPECT_EQ(printed(false, print),
            "index i of t differs from its table\n"
            "  missing  1 cell that a scan finds\n"
            "  wrong    2 hits that no scan finds\n"
            "  of       2 cells in 1 row\n"
            "  such as  a, b\n");
  EXPECT_EQ(
      printed(true, print),
      "{\"table\":\"t\",\"index\":\"i\",\"equal\":false,\"rows\":1,\"cells\":2,\"entries\":2,"
      "\"hits\":2,\"missing\":1,\"wrong\":2,\"samples\":[{\"row\":\"a\"},{\"row\":\"b\"}]}\n");
}

TEST(IndexOutput, WhatHidesACellFromAnIndexIsTold) {
  Session session;
  CellExplainer explainer(session, "t");
  const auto why = [&](DeathCause cause) {
    const client::Explanation explained{INT64_MAX, cause, true, kNoClause};
    client::Cell cell;
    cell.family = "f";
    cell.explained = &explained;
    return explainer.text(cell) + explainer.json(cell);
  };
  EXPECT_EQ(why(DeathCause::own_age),
            "not found: older than the index's own age,\"dead\":false,\"cause\":\"own_age\"");
  EXPECT_EQ(why(DeathCause::not_newest),
            "not found: a newer version of the column counts,\"dead\":false,\"cause\":"
            "\"not_newest\"");
  EXPECT_EQ(why(DeathCause::replaced),
            "not found: replaced by another value, or gone,\"dead\":true,\"cause\":\"replaced\"");
}

// ---- a node

class CliIndexes : public ClockedCliBed {
 protected:
  static constexpr int64_t kHourUs = 3'600'000'000;
  static void make() {
    good({"createtable", "t", "families=f:maxage=2d,g", "splits=m"});
    good({"set", "t", "z", "f:user=u7", "g:n=old", "--at", "now"});
  }
};

TEST_F(CliIndexes, AnIndexLivesOnANode) {
  make();
  EXPECT_EQ(good({"index", "create", "t", "by_user", "--on", "f:user", "--covered", "g:n"}), "");
  good({"set", "t", "a", "f:user=u7"});
  good({"set", "t", "b", "f:user=u8"});
  EXPECT_EQ(good({"index", "read", "t", "by_user", "--value", "u7"}),
            "a\n  f:user  2026-04-30T09:00:00Z  u7\n"
            "z\n  f:user  2026-04-30T09:00:00Z  u7\n  g:n     2026-04-30T09:00:00Z  old\n");
  EXPECT_EQ(good({"index", "read", "t", "by_user", "--row", "limit=1", "reversed=true", "--json",
                  "--filter", "{\"family_regex\": \"f\"}"}),
            "{\"row\":\"b\",\"cells\":[{\"family\":\"f\",\"qualifier\":\"user\",\"timestamp\":"
            "1777539600000000,\"value\":\"u8\"}]}\n");
  const std::string listed = good({"index", "ls"});
  EXPECT_NE(listed.find("t      by_user  f:user  value  newest  none     ready"), std::string::npos)
      << listed;
  EXPECT_EQ(good({"index", "ls", "t"}), listed);
  const std::string table = good({"describe", "t"});
  EXPECT_NE(table.find("    INDEX    ON      ORDER  MATCH   MAX AGE  TIGHTER BASE  COVERED\n"
                       "    by_user  f:user  value  newest  none     follow        g:n\n"),
            std::string::npos)
      << table;
  EXPECT_NE(good({"describe", "t", "--json"}).find("\"indexes\":[{\"index\":\"by_user\","),
            std::string::npos);
  const Outcome check = cellar({"index", "check", "t", "by_user"});
  EXPECT_EQ(check.code, kDone) << check.err;
  EXPECT_NE(check.out.find("finds what a scan finds: 3 cells in 3 rows"), std::string::npos)
      << check.out;

  const auto completed = [](const std::string& line) {
    return cellar({"__complete", "bash", line}).out;
  };
  EXPECT_EQ(completed("cellar index read t "), "by_user \n");
  EXPECT_EQ(completed("cellar index create t i --on "), "f:\ng:\n");
  EXPECT_EQ(completed("cellar index create t i covered=g:n,"), "covered=g:n,f:\ncovered=g:n,g:\n");
  EXPECT_EQ(completed("cellar index create t i order=value"), "order=value \norder=value,time \n");
  EXPECT_EQ(completed("cellar index alter t by_user tighter-base="),
            "tighter-base=follow \ntighter-base=refuse \n");

  refused({"index", "read", "t", "by_usr"}, kNotFound, "did you mean 'by_user'?");
  refused({"index", "describe", "t", "none"}, kNotFound, "table 't' has no index 'none'");
  refused({"index", "create", "t", "by_user", "on=f:user"}, kFailed, "ALREADY_EXISTS");
  refused({"index", "create", "t", "i", "on=ff:user"}, kNotFound, "did you mean 'f'?");
  refused({"index", "create", "t", "i", "on=f", "order=value"}, kFailed, "INVALID_ARGUMENT");
  refused({"index", "read", "t", "by_user", "time=0.."}, kFailed, "INVALID_ARGUMENT");

  const Outcome no = at_terminal({"index", "drop", "t", "by_user"}, "no\n");
  EXPECT_EQ(no.code, kFailed);
  EXPECT_NE(no.out.find("Remove index 'by_user' of table 't'?"), std::string::npos) << no.out;
  EXPECT_EQ(good({"index", "drop", "t", "by_user", "--yes"}), "removed index by_user of t\n");
  EXPECT_EQ(good({"index", "ls"}), "");
  EXPECT_EQ(good({"describe", "t"}).find("INDEX"), std::string::npos);
}

TEST_F(CliIndexes, AnOwnAgeHidesFromTheIndexAloneAndExplainSaysSo) {
  make();
  good({"index", "create", "t", "by_user", "on=f:user", "max-age=1h", "tighter-base=refuse"});
  good({"set", "t", "a", "f:user=u7"});
  pass_us(kHourUs + 1);
  EXPECT_EQ(good({"index", "read", "t", "by_user"}), "");
  EXPECT_NE(good({"lookup", "t", "a"}).find("u7"), std::string::npos);
  const std::string why = good({"index", "read", "t", "by_user", "--explain"});
  EXPECT_NE(why.find("u7  not found: older than the index's own age\n"), std::string::npos) << why;
  EXPECT_NE(good({"index", "read", "t", "by_user", "--explain", "--json"}).find("\"dead\":false,"),
            std::string::npos);
  refused({"index", "alter", "t", "by_user", "max-age=3d"}, kFailed, "INVALID_ARGUMENT");
  refused({"gc", "set", "t", "f", "maxage=30m", "--yes"}, kFailed, "by_user");
  EXPECT_EQ(good({"index", "alter", "t", "by_user", "max-age=none", "--json"}),
            "{\"ok\":true,\"table\":\"t\",\"index\":\"by_user\",\"ready\":true}\n");
  EXPECT_NE(good({"index", "read", "t", "by_user"}).find("u7"), std::string::npos);
  EXPECT_NE(good({"index", "describe", "t", "by_user"}).find("  max age       none\n"),
            std::string::npos);
  const std::string audit = good({"audit", "t"});
  EXPECT_NE(audit.find("index made"), std::string::npos) << audit;
  EXPECT_NE(audit.find("index changed"), std::string::npos) << audit;
}

}  // namespace
}  // namespace cellar::cli
