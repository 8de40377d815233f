// The formats of files that `cellar import` reads and `cellar export` writes, without a node.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

#include "net/cli/parse/rule_text.h"
#include "net/cli/parse/table_json.h"
#include "net/cli/session/json_rows.h"
#include "net/cli/text/times.h"
#include "net/cli/transfer/csv.h"
#include "net/cli/transfer/log_formats.h"

namespace cellar::cli {
namespace {

// A file in memory that a RecordSource reads.
struct TextFile {
  explicit TextFile(std::string text) : bytes(std::move(text)) {
    file = ::fmemopen(bytes.data(), bytes.size(), "r");
  }
  ~TextFile() { std::fclose(file); }
  std::string bytes;
  std::FILE* file;
};

// A script may be a pipe whose writer waits for the effect of a line.
TEST(LineReader, ReturnsALineBeforeThePipeEnds) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  std::FILE* file = ::fdopen(ends[0], "r");
  LineReader lines(file);
  ASSERT_EQ(::write(ends[1], "a\nb", 3), 3);
  EXPECT_EQ(**lines.next(), "a");
  ASSERT_EQ(::write(ends[1], "c\n", 2), 2);
  EXPECT_EQ(**lines.next(), "bc");
  ::close(ends[1]);
  EXPECT_FALSE(lines.next()->has_value());
  std::fclose(file);
}

TEST(LineReader, AReadThatFailsIsNoEnd) {
  std::FILE* file = std::fopen("/dev/null", "w");  // cannot be read
  LineReader lines(file);
  const auto line = lines.next();
  ASSERT_FALSE(line.has_value());
  EXPECT_EQ(line.error().code, Errc::data_loss);
  EXPECT_NE(line.error().message.find("behind byte 0"), std::string::npos) << line.error().message;
  std::fclose(file);
}

TEST(LineReader, ALineThatIsTooLongIsSkipped) {
  TextFile text("12345678\n123456789\nnext\n" + std::string(600'000, 'x') + "\nlast");
  LineReader lines(text.file, 8);
  EXPECT_EQ(**lines.next(), "12345678");
  EXPECT_EQ(lines.next().error().message, "the line is longer than 8 bytes");
  EXPECT_EQ(**lines.next(), "next");
  EXPECT_EQ(lines.next().error().code, Errc::resource_exhausted);  // of several pieces
  EXPECT_EQ(**lines.next(), "last");
  EXPECT_EQ(lines.line(), 5u);
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

TEST(JsonRows, AnUnknownMemberIsRefused) {
  const auto why = [](std::string_view more) {
    const auto row = parse_json_row(
        fmt::format(R"({{"row":"r","cells":[{{"family":"f","value":"v"{}}}]}})", more), {});
    return row ? "" : row.error().message;
  };
  EXPECT_EQ(why(R"(,"expires_at":1795381491851479)"),
            R"("expires_at" is no member of a cell; did you mean "expire_at"?)");
  EXPECT_EQ(why(R"(,"ttl":"1h")"), R"("ttl" is no member of a cell)");
  EXPECT_NE(why(R"(,"timestamp_hex":"00")"), "");
  EXPECT_EQ(why(R"(,"qualifier_int64":7,"labels":"x","expire_at":9000)"), "");
  EXPECT_EQ(parse_json_row(R"({"row":"r","cell":[]})", {}).error().message,
            R"("cell" is no member of a row; did you mean "cells"?)");
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

TEST(Csv, ACarriageReturnInsideQuotesStays) {
  TextFile text("r,\"x\r\ny\"\r\ns,1\r\n");
  LineReader lines(text.file);
  EXPECT_EQ(**read_csv(lines), (Fields{"r", "x\r\ny"}));
  EXPECT_EQ(**read_csv(lines), (Fields{"s", "1"}));
}

// A pipe cannot go back.
TEST(Csv, LinesLostToAnOpenQuoteInAPipeAreNamed) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "a,\"open\nb,1\nc,2\n", 16), 16);
  ::close(ends[1]);
  std::FILE* file = ::fdopen(ends[0], "r");
  LineReader lines(file);
  const auto record = read_csv(lines);
  ASSERT_FALSE(record.has_value());
  EXPECT_EQ(record.error().message, "a quote is not closed; lines 2 to 3 are lost with it");
  std::fclose(file);
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

TEST(Csv, LinesAfterAnOpenQuoteAreReadAgain) {
  TextFile text("id,f:a\nr1,\"open\nr2,2\nr3,\"a\nb\"\nr4,\"open\nr5,5\n");
  const auto source = open_source(Format::csv, text.file, {});
  EXPECT_EQ(described(*source),
            (std::vector<std::string>{"line 2: field 2: a quote where none may stand", "r2 f:a=2",
                                      "r3 f:a=a\nb", "line 6: a quote is not closed", "r5 f:a=5"}));
}

TEST(Csv, AnyNumberOfEmptyLinesIsPassedOver) {
  TextFile text("id,f:a\n" + std::string(1'000'000, '\n') + "r,v\n");
  const auto source = open_source(Format::csv, text.file, {});
  EXPECT_EQ(described(*source), std::vector<std::string>{"r f:a=v"});
}

TEST(Csv, ALineThatIsTooLongRejectsItsRecordOnly) {
  TextFile text("id,f:a\nr1," + std::string(65u << 20, 'x') + "\nr2,2\n");
  const auto source = open_source(Format::csv, text.file, {});
  EXPECT_EQ(described(*source), (std::vector<std::string>{
                                    "line 2: the line is longer than 67108864 bytes", "r2 f:a=2"}));
}

TEST(Csv, EachBadLineOfCellsIsNamed) {
  TextFile text(
      "row,family,qualifier,timestamp,value,expire_at\nr\ns\na,f,q,5,v,\nt\nu\nb,f,q,5,v,\n");
  const auto source = open_source(Format::csv, text.file, {});
  std::vector<std::string> places;
  for (const std::string& one : described(*source)) places.push_back(one.substr(0, 7));
  EXPECT_EQ(places, (std::vector<std::string>{"line 2:", "line 3:", "a f:q=v",
                                              "line 5:", "line 6:", "b f:q=v"}));
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

TEST(DpkgLog, ASecondThatComesBackIsNumberedOn) {
  TextFile text(
      "2025-06-24 14:36:25 status unpacked a:all 1\n"
      "2025-06-24 14:36:26 status unpacked a:all 2\n"
      "2025-06-24 14:36:25 status unpacked a:all 3\n");
  SourceOptions options;
  options.utc = true;
  const auto source = open_source(Format::dpkg_log, text.file, options);
  const std::vector<std::string> events = {"a status:unpacked=1@1750775785000000",
                                           "a status:unpacked=2@1750775786000000",
                                           "a status:unpacked=3@1750775785001000"};
  ASSERT_TRUE(source->next());
  ASSERT_TRUE(source->next());
  const Position middle = source->position();
  EXPECT_EQ(described(*source), std::vector<std::string>{events[2]});
  // Resumed behind the second event.
  ASSERT_TRUE(go_to_start(text.file));
  const auto resumed = open_source(Format::dpkg_log, text.file, options);
  ASSERT_TRUE(resumed->seek(middle));
  EXPECT_EQ(described(*resumed), std::vector<std::string>{events[2]});
}

TEST(DpkgLog, TheOldestNumbersAreForgotten) {
  EventNumbers numbers;
  DpkgEvent event{"a", "f", "q", "v", 0};
  EXPECT_EQ(numbers.next(event), 0u);
  EXPECT_EQ(numbers.next(event), 1u);
  for (size_t i = 1; i <= EventNumbers::kMaxNumberedEvents; ++i) {
    event.time_us = static_cast<int64_t>(i) * 1'000'000;
    numbers.next(event);
  }
  event.time_us = 0;
  EXPECT_EQ(numbers.next(event), 0u);
}

TEST(PackageList, TheNodeStampsItWhereNoTimeIsChosen) {
  TextFile text("libc6\tamd64\t2.36-9\n");
  const auto source = open_source(Format::package_list, text.file, {});
  EXPECT_EQ(described(*source), std::vector<std::string>{"libc6 install:amd64=2.36-9"});
}

TEST(PackageList, EveryPackageIsAnInstallation) {
  TextFile text("libc6\tamd64\t2.36-9\nadduser\tall\t3.134\nbad line\n\tall\t1\n");
  SourceOptions options;
  options.at_us = 5'000'000;
  const auto source = open_source(Format::package_list, text.file, options);
  EXPECT_EQ(described(*source),
            (std::vector<std::string>{"libc6 install:amd64=2.36-9@5000000",
                                      "adduser install:all=3.134@5000000",
                                      "line 3: not package, architecture, version between tabs",
                                      "line 4: not package, architecture, version between tabs"}));
}

TEST(Schema, ARuleOfSixteenGroupsGoesThroughJson) {
  using client::RetentionRule;
  const auto nested = [](int groups) {
    RetentionRule rule = RetentionRule::max_versions(1);
    for (int i = 0; i < groups; ++i) {
      std::vector<RetentionRule> parts = {std::move(rule), RetentionRule::max_age_us(1'000'000)};
      rule = i % 2 == 0 ? RetentionRule::any_of(std::move(parts))
                        : RetentionRule::all_of(std::move(parts));
    }
    client::TableDescription table;
    table.families.emplace_back().name = "f";
    table.families[0].rule = std::move(rule);
    return "{" + schema_members(table) + "}";
  };
  const auto parsed = parse_schema(nested(16));
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_NE(rule_text(parsed->families.at(0).rule).find("maxversions=1"), std::string::npos);
  const auto deeper = parse_schema(nested(17));
  ASSERT_FALSE(deeper);
  EXPECT_NE(deeper.error().message.find("in 16 groups at most"), std::string::npos);
}

TEST(Formats, AreGuessedFromTheName) {
  EXPECT_EQ(*guess_format("/var/log/dpkg.log.1"), Format::dpkg_log);
  EXPECT_EQ(*guess_format("a/b.csv"), Format::csv);
  EXPECT_EQ(*guess_format("rows.jsonl"), Format::jsonl);
  EXPECT_FALSE(guess_format("-").has_value());
  EXPECT_FALSE(parse_format("xml").has_value());
}

}  // namespace
}  // namespace cellar::cli
