// What the command line reads and writes, without a node: times, columns, arguments, file formats.
#include <gtest/gtest.h>

#include <cstdlib>
#include <ctime>

#include "net/cli/arguments.h"
#include "net/cli/columns.h"
#include "net/cli/csv.h"
#include "net/cli/json_rows.h"
#include "net/cli/log_formats.h"
#include "net/cli/printer.h"
#include "net/cli/suggest.h"
#include "net/cli/text.h"
#include "net/cli/times.h"

namespace cellar::cli {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kNow = 1'795'225'945'141'999;  // 2026-11-21T01:52:25.141999Z

// A file in memory that a RecordSource reads.
struct TextFile {
  explicit TextFile(std::string text) : bytes(std::move(text)) {
    file = ::fmemopen(bytes.data(), bytes.size(), "r");
  }
  ~TextFile() { std::fclose(file); }
  std::string bytes;
  std::FILE* file;
};

// ---- times ----

TEST(Times, NumbersAreMicroseconds) {
  EXPECT_EQ(*parse_time("1500", kNow), 1500);
  EXPECT_EQ(*parse_time("0", kNow), 0);
  EXPECT_EQ(*parse_time("9223372036854775807", kNow), INT64_MAX);
}

TEST(Times, Rfc3339InItsForms) {
  constexpr int64_t kEight = 1'795'248'000 * kSecond;  // 2026-11-21T08:00:00Z
  EXPECT_EQ(*parse_time("2026-11-21T08:00:00Z", kNow), kEight);
  EXPECT_EQ(*parse_time("2026-11-21 08:00:00", kNow), kEight);
  EXPECT_EQ(*parse_time("2026-11-21T08:00", kNow), kEight);
  EXPECT_EQ(*parse_time("2026-11-21T09:00:00+01:00", kNow), kEight);
  EXPECT_EQ(*parse_time("2026-11-21T02:30:00-0530", kNow), kEight);
  EXPECT_EQ(*parse_time("2026-11-21T08:00:00.000123Z", kNow), kEight + 123);
  EXPECT_EQ(*parse_time("2026-11-21", kNow), kEight - 8 * 3600 * kSecond);
  EXPECT_EQ(*parse_time("1970-01-01", kNow), 0);
  EXPECT_EQ(*parse_time("2024-02-29T00:00:00Z", kNow), 1'709'164'800 * kSecond);
}

TEST(Times, RelativeOnesAreWholeMilliseconds) {
  EXPECT_EQ(*parse_time("now", kNow), kNow - 999);
  EXPECT_EQ(*parse_time("-1h", kNow), kNow - 999 - 3600 * kSecond);
  EXPECT_EQ(*parse_time("now-2d", kNow), kNow - 999 - 2 * 86'400 * kSecond);
  EXPECT_EQ(*parse_time("+5m", kNow), kNow - 999 + 300 * kSecond);
  EXPECT_EQ(*parse_time("2h ago", kNow), kNow - 999 - 7200 * kSecond);
  EXPECT_EQ(*parse_time("in 2h", kNow), kNow - 999 + 7200 * kSecond);
  constexpr int64_t kMidnight = 1'795'219'200 * kSecond;  // 2026-11-21T00:00:00Z
  EXPECT_EQ(*parse_time("today", kNow), kMidnight);
  EXPECT_EQ(*parse_time("today+8h", kNow), kMidnight + 8 * 3600 * kSecond);
  EXPECT_EQ(*parse_time("yesterday", kNow), kMidnight - 86'400 * kSecond);
  EXPECT_EQ(*parse_time("tomorrow-1s", kNow), kMidnight + 86'399 * kSecond);
  EXPECT_EQ(*parse_time("in 9223372036854775807us", kNow), INT64_MAX / 1000 * 1000);
}

TEST(Times, WhatIsNoTimeIsRefusedWithItsText) {
  for (const char* text :
       {"", "yester", "todaynow", "nowtoday", "ago", "2h  ago", "in -2h", "2026-13-01",
        "2026-02-29", "2026-11-21T25:00:00Z", "2026-11-21T08:00:00Zx", "-1", "-1y", "now1h", "12x",
        "1.5", "2026-11-21T08:00:00.Z", "99999999999999999999"}) {
    const auto time = parse_time(text, kNow);
    ASSERT_FALSE(time.has_value()) << text;
    EXPECT_NE(time.error().message.find(fmt::format("'{}'", text)), std::string::npos);
  }
}

TEST(Times, AreShownAsShortAsTheyCanBe) {
  EXPECT_EQ(format_time(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(format_time(1'795'248'000 * kSecond), "2026-11-21T08:00:00Z");
  EXPECT_EQ(format_time(1'795'248'000 * kSecond + 5'000), "2026-11-21T08:00:00.005Z");
  EXPECT_EQ(format_time(1'795'248'000 * kSecond + 5), "2026-11-21T08:00:00.000005Z");
  EXPECT_EQ(format_time(INT64_MAX), "9223372036854775807");
}

TEST(Times, ShownAndReadAgainTheyAreTheSame) {
  for (int64_t us = 0; us < 4'000'000'000 * kSecond; us += 1'234'567'891'234'567) {
    EXPECT_EQ(*parse_time(format_time(us), kNow), us);
  }
}

TEST(Times, AnExactDurationIsTakenBack) {
  for (const char* text : {"2d", "36h", "90m", "1s", "10ms", "1500us", "0s"}) {
    EXPECT_EQ(exact_duration(*parse_duration(text)), text);
  }
  EXPECT_EQ(exact_duration(*parse_duration("1w")), "7d");
  EXPECT_EQ(format_distance(kNow + 7'200 * kSecond, kNow), "in 2 h 00 min");
  EXPECT_EQ(format_distance(kNow - 3'200'000, kNow), "3.2 s ago");
  EXPECT_EQ(format_distance(kNow, kNow), "now");
}

TEST(Times, DurationsReadWell) {
  EXPECT_EQ(format_duration(850), "850 us");
  EXPECT_EQ(format_duration(1'250), "1.25 ms");
  EXPECT_EQ(format_duration(3'200'000), "3.2 s");
  EXPECT_EQ(format_duration(245 * kSecond), "4 min 05 s");
  EXPECT_EQ(format_duration(7'800 * kSecond), "2 h 10 min");
  EXPECT_EQ(*parse_duration("2d"), 2 * 86'400 * kSecond);
  EXPECT_FALSE(parse_duration("d").has_value());
  EXPECT_FALSE(parse_duration("9223372036854775807w").has_value());
}

// ---- columns ----

TEST(Columns, SplitAtTheFirstColon) {
  const auto column = parse_column("f:a:b");
  ASSERT_TRUE(column);
  EXPECT_EQ(column->family, "f");
  EXPECT_EQ(column->qualifier, "a:b");
  EXPECT_EQ(parse_column("f:")->qualifier, "");
  EXPECT_FALSE(parse_column("f").has_value());
  EXPECT_FALSE(parse_column(":q").has_value());
}

TEST(Columns, ACellHasAValueAndPerhapsATime) {
  EXPECT_EQ(parse_cell("f:q=v", kNow, false)->value, "v");
  EXPECT_EQ(parse_cell("f:q=a=b", kNow, false)->value, "a=b");
  EXPECT_EQ(parse_cell("f:q=", kNow, false)->value, "");
  const auto timed = parse_cell("f:q=v@5000", kNow, false);
  EXPECT_EQ(timed->value, "v");
  EXPECT_EQ(timed->timestamp_us, 5000);
  EXPECT_EQ(parse_cell("f:q=v@2026-11-21T08:00:00Z", kNow, false)->timestamp_us,
            1'795'248'000 * kSecond);
}

TEST(Columns, AnAtSignThatBeginsNoTimeBelongsToTheValue) {
  EXPECT_EQ(parse_cell("f:mail=bob@example.org", kNow, false)->value, "bob@example.org");
  EXPECT_EQ(parse_cell("f:mail=bob@example.org@7000", kNow, false)->value, "bob@example.org");
  EXPECT_EQ(parse_cell("f:q=v@5000", kNow, true)->value, "v@5000");
  EXPECT_EQ(parse_cell("f:q=lunch@today", kNow, false)->value, "lunch@today");
  EXPECT_EQ(parse_cell("f:q=lunch@today+12h", kNow, false)->value, "lunch");
}

TEST(Columns, AChoiceNamesFamiliesAndColumns) {
  const auto choice = ColumnChoice::parse("a,b:x");
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->has("a", "anything"));
  EXPECT_TRUE(choice->has("b", "x"));
  EXPECT_FALSE(choice->has("b", "y"));
  EXPECT_TRUE(ColumnChoice::parse("")->has("c", "z"));
}

// ---- arguments ----

CommandSpec reading() {
  CommandSpec spec;
  spec.name = "read";
  spec.positional = "TABLE";
  spec.least = spec.most = 1;
  spec.keys = {{"prefix", "KEY", ""}, {"count", "N", ""}, {"create", "", ""}};
  return spec;
}

TEST(ArgumentsOf, KeysStandAnywhereAfterWhatIsPositional) {
  const auto arguments = Arguments::parse(reading(), {"t", "count=5", "prefix=a=b"}, {});
  ASSERT_TRUE(arguments);
  EXPECT_EQ((*arguments)[0], "t");
  EXPECT_EQ(*arguments->number("count", 0), 5u);
  EXPECT_EQ(arguments->get("prefix"), "a=b");
}

TEST(ArgumentsOf, WhatIsPositionalIsTakenAsItStands) {
  const auto arguments = Arguments::parse(reading(), {"count=5"}, {});
  ASSERT_TRUE(arguments);
  EXPECT_EQ((*arguments)[0], "count=5");
}

TEST(ArgumentsOf, AMisspeltKeyIsRefusedWithAHint) {
  const auto arguments = Arguments::parse(reading(), {"t", "cuont=5"}, {});
  ASSERT_FALSE(arguments);
  EXPECT_EQ(arguments.error().message, "read takes no cuont=; did you mean count=?");
}

TEST(ArgumentsOf, TooFewAndTooManyAreRefused) {
  EXPECT_EQ(Arguments::parse(reading(), {}, {}).error().message,
            "read needs TABLE; see cellar read --help");
  EXPECT_EQ(Arguments::parse(reading(), {"t", "u"}, {}).error().message,
            "read takes TABLE, and 'u' is too much; see cellar read --help");
}

TEST(ArgumentsOf, NumbersAndFlagsAreChecked) {
  const auto arguments = Arguments::parse(reading(), {"t", "count=many"}, {{"create", "perhaps"}});
  ASSERT_TRUE(arguments);
  EXPECT_FALSE(arguments->number("count", 0).has_value());
  EXPECT_FALSE(arguments->flag("create").has_value());
  EXPECT_FALSE(*arguments->flag("absent"));
}

TEST(Suggest, NearWordsAndNoFarOnes) {
  const std::vector<std::string> words = {"read", "lookup", "createtable", "ls"};
  EXPECT_EQ(nearest("raed", words), "read");
  EXPECT_EQ(nearest("create", words), "createtable");
  EXPECT_EQ(nearest("lokup", words), "lookup");
  EXPECT_EQ(nearest("elephant", words), "");
}

// ---- bytes ----

TEST(Text, EscapesWhatATerminalMustNotSeeAndReadsItBack) {
  const std::string bytes("a\n\t\\\0\x1b\xff grün \xc3", 15);
  EXPECT_EQ(escaped(bytes), "a\\n\\t\\\\\\x00\\x1b\\xff grün \\xc3");
  EXPECT_EQ(*unescaped(escaped(bytes)), bytes);
  EXPECT_FALSE(unescaped("\\q").has_value());
  EXPECT_FALSE(unescaped("\\x1").has_value());
}

TEST(Text, KnowsWellFormedUtf8) {
  EXPECT_TRUE(is_utf8("grün €𝄞"));
  for (const char* bad : {"\xc0\x80", "\xed\xa0\x80", "\xf5\x80\x80\x80", "\xe2\x82", "\x80"}) {
    EXPECT_FALSE(is_utf8(bad));
  }
}

TEST(Text, Base64GoesBothWays) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  for (const char* text : {"", "f", "fo", "foo", "\xff\xfe"}) {
    EXPECT_EQ(*from_base64(to_base64(text)), text);
  }
  EXPECT_FALSE(from_base64("a*b=").has_value());
}

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1'234'567), "1,234,567");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
}

// ---- JSON lines ----

TEST(JsonRows, ARowIsOneLineThatCanBeReadBack) {
  const std::vector<client::Cell> cells = {{"f", "q", 5000, "a\"b\n", ""},
                                           {"f", "\xff", 4000, Bytes("\0\xfe", 2), ""}};
  const std::string line = json_row("row", cells);
  EXPECT_EQ(line,
            "{\"row\":\"row\",\"cells\":[{\"family\":\"f\",\"qualifier\":\"q\",\"timestamp\":5000,"
            "\"value\":\"a\\\"b\\n\"},{\"family\":\"f\",\"qualifier_base64\":\"/w==\","
            "\"timestamp\":4000,\"value_base64\":\"AP4=\"}]}");
  const auto mutation = parse_json_row(line, {});
  ASSERT_TRUE(mutation);
  EXPECT_EQ(mutation->row(), "row");
  ASSERT_EQ(mutation->operations().size(), 2u);
  EXPECT_EQ(mutation->bytes(mutation->operations()[1].qualifier), "\xff");
  EXPECT_EQ(mutation->bytes(mutation->operations()[1].value), Bytes("\0\xfe", 2));
  EXPECT_EQ(mutation->operations()[0].timestamp_us, 5000);
}

TEST(JsonRows, CellsWithoutATimeAreStampedByTheNodeOrAsAsked) {
  const char* line = R"({"row":"r","cells":[{"family":"f","value":"v"}]})";
  EXPECT_FALSE(parse_json_row(line, {})->operations()[0].timestamp_us.has_value());
  EXPECT_EQ(parse_json_row(line, 7000)->operations()[0].timestamp_us, 7000);
}

TEST(JsonRows, WhatIsNoRowIsRefusedWithTheReason) {
  const auto why = [](const char* line) { return parse_json_row(line, {}).error().message; };
  EXPECT_NE(why("{").find("not JSON"), std::string::npos);
  EXPECT_EQ(why("[]"), "not a JSON object");
  EXPECT_EQ(why("{}"), "\"row\" is missing");
  EXPECT_EQ(why(R"({"row":1})"), "\"row\" is not a string");
  EXPECT_EQ(why(R"({"row":"r"})"), "\"cells\" is not an array");
  EXPECT_EQ(why(R"({"row":"r","cells":[]})"), "\"cells\" is empty");
  EXPECT_EQ(why(R"({"row":"r","cells":[{"family":"f"}]})"), "\"value\" is missing");
  EXPECT_EQ(why(R"({"row":"r","cells":[{"family":"f","value":"v","timestamp":1.5}]})"),
            "\"timestamp\" is not a whole number of microseconds");
}

// ---- CSV ----

using Fields = std::vector<std::string>;

TEST(Csv, QuotesProtectCommasQuotesAndLineBreaks) {
  TextFile text("a,\"b,c\",\"say \"\"hi\"\"\",\"two\nlines\",\n\"\",x\r\nlast");
  LineReader lines(text.file);
  EXPECT_EQ(**read_csv(lines), (Fields{"a", "b,c", "say \"hi\"", "two\nlines", ""}));
  EXPECT_EQ(**read_csv(lines), (Fields{"", "x"}));
  EXPECT_EQ(**read_csv(lines), (Fields{"last"}));
  EXPECT_FALSE((*read_csv(lines)).has_value());
  EXPECT_EQ(lines.line(), 4u);
}

TEST(Csv, ALooseQuoteRejectsItsRecordOnly) {
  TextFile text("a,b\"c\nd,\"e\"f\ng,h\ni,\"open\n");
  LineReader lines(text.file);
  EXPECT_FALSE(read_csv(lines).has_value());
  EXPECT_FALSE(read_csv(lines).has_value());
  EXPECT_EQ(**read_csv(lines), (Fields{"g", "h"}));
  EXPECT_FALSE(read_csv(lines).has_value());
}

std::vector<std::string> described(RecordSource& source) {
  std::vector<std::string> out;
  while (true) {
    auto record = source.next();
    if (!record) {
      out.push_back(fmt::format("line {}: {}", source.line(), record.error().message));
      if (record.error().code == Errc::failed_precondition) return out;
      continue;
    }
    if (!*record) return out;
    const client::Mutation& m = **record;
    std::string text = std::string(m.row());
    for (const auto& op : m.operations()) {
      text +=
          fmt::format(" {}:{}={}", m.bytes(op.family), m.bytes(op.qualifier), m.bytes(op.value));
      if (op.timestamp_us) text += fmt::format("@{}", *op.timestamp_us);
    }
    out.push_back(text);
  }
}

TEST(Csv, TheHeaderNamesTheColumns) {
  TextFile text("\xef\xbb\xbfid,f:a,f:b@5000\nr1,1,2\nr2,,3\n\nr3,,\nr4,1\nr5,1,2,3\n");
  const auto source = open_source(Format::csv, text.file, {});
  EXPECT_EQ(
      described(*source),
      (std::vector<std::string>{
          "r1 f:a=1 f:b=2@5000", "r2 f:b=3@5000", "line 5: every field but the row key is empty",
          "line 6: 2 fields where the header has 3", "line 7: 4 fields where the header has 3"}));
}

TEST(Csv, ABadHeaderEndsTheImport) {
  TextFile text("id,nofamily\nr,1\n");
  const auto source = open_source(Format::csv, text.file, {});
  EXPECT_EQ(described(*source),
            (std::vector<std::string>{"line 0: the header: 'nofamily' is not a column; write it as "
                                      "family:qualifier, or give family=NAME"}));
}

// ---- the package log ----

std::string event(const char* line) {
  const auto e = parse_dpkg_line(line, true);
  if (!e) return e.error().message;
  return fmt::format("{}|{}:{}|{}|{}", e->row, e->family, e->qualifier, e->value,
                     format_time(e->time_us));
}

TEST(DpkgLog, EveryKindOfLine) {
  EXPECT_EQ(event("2025-06-24 14:36:25 install libc6:amd64 <none> 2.36-9"),
            "libc6|install:amd64|2.36-9|2025-06-24T14:36:25Z");
  EXPECT_EQ(event("2025-06-24 14:36:25 upgrade libc6:amd64 2.36-9 2.36-10"),
            "libc6|upgrade:amd64|2.36-9 -> 2.36-10|2025-06-24T14:36:25Z");
  EXPECT_EQ(event("2025-06-24 14:36:25 remove g++ 4:12 <none>"),
            "g++|remove:|4:12|2025-06-24T14:36:25Z");
  EXPECT_EQ(event("2025-06-24 14:36:25 configure base-files:amd64 12.4 <none>"),
            "base-files|configure:amd64|12.4|2025-06-24T14:36:25Z");
  EXPECT_EQ(event("2025-06-24 14:36:25 trigproc man-db:amd64 2.11 <none>"),
            "man-db|trigproc:amd64|2.11|2025-06-24T14:36:25Z");
  EXPECT_EQ(event("2025-06-24 14:36:25 status half-configured libc6:amd64 2.36-9"),
            "libc6|status:half-configured|2.36-9|2025-06-24T14:36:25Z");
  EXPECT_EQ(event("2025-06-24 14:36:25 status not-installed x:all <none>"),
            "x|status:not-installed||2025-06-24T14:36:25Z");
  EXPECT_EQ(event("2025-06-24 14:36:25 startup archives unpack"),
            "dpkg|startup:archives|unpack|2025-06-24T14:36:25Z");
  EXPECT_EQ(event("2025-06-24 14:36:25 conffile /etc/motd keep"),
            "/etc/motd|conffile:|keep|2025-06-24T14:36:25Z");
}

TEST(DpkgLog, OddLinesAreRefused) {
  for (const char* line :
       {"", "garbage", "2025-06-24 14:36:25", "2025-06-24 14:36:25 ", "2025-06-24 14:36:25 install",
        "2025-06-24 14:36:25 install a b", "2025-06-24 14:36:25 install :amd64 <none> 1",
        "2025-06-31 14:36:25 install a:b <none> 1", "2025-06-24T14:36:25 install a:b <none> 1",
        "2025-06-24 14:36:25 install a:b <none> 1 2", "2025-06-24 14:36:25 startup a b c"}) {
    EXPECT_FALSE(parse_dpkg_line(line, true).has_value()) << line;
  }
}

TEST(DpkgLog, TimesAreLocalUnlessSaid) {
  ::setenv("TZ", "Asia/Kolkata", 1);
  ::tzset();
  const auto local = parse_dpkg_line("2025-06-24 14:36:25 startup archives unpack", false);
  ::unsetenv("TZ");
  ::tzset();
  EXPECT_EQ(format_time(local->time_us), "2025-06-24T09:06:25Z");
}

TEST(DpkgLog, EventsOfOneCellInOneSecondAreSpread) {
  TextFile text(
      "2025-06-24 14:36:25 status unpacked a:all 1\n"
      "2025-06-24 14:36:25 status unpacked a:all 2\n"
      "2025-06-24 14:36:25 status unpacked b:all 1\n"
      "not a line\n"
      "2025-06-24 14:36:26 status unpacked a:all 3\n");
  SourceOptions options;
  options.utc = true;
  const auto source = open_source(Format::dpkg_log, text.file, options);
  EXPECT_EQ(
      described(*source),
      (std::vector<std::string>{
          "a status:unpacked=1@1750775785000000", "a status:unpacked=2@1750775785001000",
          "b status:unpacked=1@1750775785000000", "line 4: does not begin with a date and a time",
          "a status:unpacked=3@1750775786000000"}));
}

TEST(PackageList, EveryPackageIsAnInstallation) {
  TextFile text("libc6\tamd64\t2.36-9\nadduser\tall\t3.134\nbad line\n\tall\t1\n");
  SourceOptions options;
  options.now_us = 5'000'999;
  const auto source = open_source(Format::package_list, text.file, options);
  EXPECT_EQ(described(*source),
            (std::vector<std::string>{"libc6 install:amd64=2.36-9@5000000",
                                      "adduser install:all=3.134@5000000",
                                      "line 3: not package, architecture, version between tabs",
                                      "line 4: not package, architecture, version between tabs"}));
}

TEST(Formats, AreGuessedFromTheName) {
  EXPECT_EQ(*guess_format("/var/log/dpkg.log.1"), Format::dpkg_log);
  EXPECT_EQ(*guess_format("a/b.csv"), Format::csv);
  EXPECT_EQ(*guess_format("rows.jsonl"), Format::jsonl);
  EXPECT_FALSE(guess_format("-").has_value());
  EXPECT_FALSE(parse_format("xml").has_value());
}

TEST(Aligned, ColumnsLineUpByWhatIsSeen) {
  EXPECT_EQ(aligned({{"a", "b", "c"}, {"grün", "1", "x"}}, 2),
            "  a     b  c\n"
            "  grün  1  x\n");
}

}  // namespace
}  // namespace cellar::cli
