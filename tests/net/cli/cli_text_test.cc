// Parsing and printing of the command line, without a node: times, columns, arguments, bytes.
#include <gtest/gtest.h>

#include "net/cli/print/printer.h"
#include "net/cli/session/arguments.h"
#include "net/cli/text/columns.h"
#include "net/cli/text/suggest.h"
#include "net/cli/text/text.h"
#include "net/cli/text/times.h"

namespace cellar::cli {
namespace {

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kNow = 1'795'225'945'141'999;  // 2026-11-21T01:52:25.141999Z

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
  EXPECT_EQ(parse_cell("f:q=root@10.0.0.1", kNow, false)->value, "root@10.0.0.1");
  EXPECT_EQ(parse_cell("f:q=root@10.0.0.1:80", kNow, false)->value, "root@10.0.0.1:80");
  EXPECT_EQ(parse_cell("f:q=logo@2x.png", kNow, false)->value, "logo@2x.png");
  EXPECT_EQ(parse_cell("f:mail=bob@1and1.com", kNow, false)->value, "bob@1and1.com");
  EXPECT_EQ(parse_cell("f:q=a@b-c", kNow, false)->value, "a@b-c");
  EXPECT_EQ(parse_cell("f:q=v@", kNow, false)->value, "v@");
  EXPECT_EQ(parse_cell("f:q=lunch@today+12h", kNow, false)->value, "lunch");
}

TEST(Columns, WhatResemblesATimeAndIsNoneIsRefused) {
  for (const char* when :
       {"today", "tomorrow", "2026-13-01", "2026-11-21T25:00:00Z", "2days", "2 days ago", "-5",
        "+1x", "now+1", "today-2x", "99999999999999999999", "08:00", "08:00:00.5"}) {
    const std::string cell = fmt::format("f:q=lunch@{}", when);
    EXPECT_FALSE(parse_cell(cell, kNow, false)) << when;
    EXPECT_EQ(parse_cell(cell, kNow, true)->value, fmt::format("lunch@{}", when));
  }
}

TEST(Columns, AChoiceNamesFamiliesAndColumns) {
  const auto choice = ColumnChoice::parse("a,b:x", false);
  ASSERT_TRUE(choice);
  EXPECT_TRUE(choice->has("a", "anything"));
  EXPECT_TRUE(choice->has("b", "x"));
  EXPECT_FALSE(choice->has("b", "y"));
  EXPECT_TRUE(ColumnChoice::parse("", false)->has("c", "z"));
  EXPECT_TRUE(ColumnChoice::parse("f:a\\x2c", true)->has("f", "a,"));
  EXPECT_TRUE(ColumnChoice::parse("f:a\\x2c", false)->has("f", "a\\x2c"));
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
  const std::string c1 =
      "\xc2\x80 \xc2\x9b"
      "2J \xc2\xa0";  // U+00A0 is a space
  EXPECT_EQ(escaped(c1), "\\xc2\\x80 \\xc2\\x9b2J \xc2\xa0");
  EXPECT_EQ(*unescaped(escaped(c1)), c1);
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
  for (const char* text : {"Q", "Q===", "QUJDR", "QUJDR==="})
    EXPECT_FALSE(from_base64(text)) << text;
  EXPECT_EQ(*from_base64("QUJDRA"), "ABCD");
}

TEST(Text, NumbersForPeople) {
  EXPECT_EQ(with_commas(0), "0");
  EXPECT_EQ(with_commas(999), "999");
  EXPECT_EQ(with_commas(1'234'567), "1,234,567");
  EXPECT_EQ(human_bytes(1023), "1023 B");
  EXPECT_EQ(human_bytes(1536), "1.5 KiB");
}

TEST(Aligned, ColumnsLineUpByWhatIsSeen) {
  EXPECT_EQ(aligned({{"a", "b", "c"}, {"grün", "1", "x"}}, 2),
            "  a     b  c\n"
            "  grün  1  x\n");
}

}  // namespace
}  // namespace cellar::cli
