#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "io/base/log_setup.h"

namespace cellar {
namespace {

constexpr std::string_view kTime = "2026-05-20T16:27:23.001Z";

using Fields = std::map<std::string, std::string>;

LogRecord flushed() { return log_record("flushed tablet={} cells={}", 7, 12); }

// A line of text, parsed by the rules of log_setup.h only.
struct ReadLine {
  std::string words;
  Fields fields;
};

std::string unescaped(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      out += text[i];
      continue;
    }
    const char kind = text[++i];
    if (kind == 'x' || kind == 'u') {
      const size_t digits = kind == 'x' ? 2 : 4;
      const int code = std::stoi(std::string(text.substr(i + 1, digits)), nullptr, 16);
      if (kind == 'u' && code >= 0x80) out += static_cast<char>(0xc2);
      out += static_cast<char>(code);
      i += digits;
    } else {
      out += kind;
    }
  }
  return out;
}

ReadLine read_text(std::string_view line) {
  ReadLine read;
  line.remove_prefix(line.find(": ") + 2);
  for (bool first = true, more = true; more; first = false) {
    size_t key = 0;
    while (key < line.size() && (std::isalnum(static_cast<unsigned char>(line[key])) != 0 ||
                                 line[key] == '_' || line[key] == '.')) {
      ++key;
    }
    size_t end = std::min(line.find(' '), line.size());
    if (key > 0 && key < line.size() && line[key] == '=') {
      const size_t begin = key + 1;
      if (begin < line.size() && line[begin] == '"') {
        for (end = begin + 1; line.at(end) != '"'; ++end) end += line[end] == '\\' ? 1u : 0u;
        read.fields[std::string(line.substr(0, key))] =
            unescaped(line.substr(begin + 1, end - begin - 1));
        ++end;
      } else {
        read.fields[std::string(line.substr(0, key))] = line.substr(begin, end - begin);
      }
    } else {
      if (!first) read.words += ' ';
      read.words += unescaped(line.substr(0, end));
    }
    more = end < line.size();
    line.remove_prefix(std::min(end + 1, line.size()));
  }
  return read;
}

// Parses an object of strings, strictly; empty if it is not one.
std::optional<Fields> read_json(std::string_view line) {
  Fields fields;
  size_t at = 0;
  const auto take = [&](char c) { return at < line.size() && line[at] == c && ++at > 0; };
  const auto string = [&]() -> std::optional<std::string> {
    if (!take('"')) return std::nullopt;
    const size_t begin = at;
    for (; at < line.size() && line[at] != '"'; ++at) {
      if (static_cast<unsigned char>(line[at]) < 0x20) return std::nullopt;
      if (line[at] != '\\') continue;
      ++at;
      if (at == line.size() || std::string_view("\"\\u").find(line[at]) == std::string_view::npos) {
        return std::nullopt;
      }
    }
    const std::string_view raw = line.substr(begin, at - begin);
    if (!take('"')) return std::nullopt;
    return unescaped(raw);
  };
  if (!take('{')) return std::nullopt;
  do {
    const auto key = string();
    if (!key || !take(':')) return std::nullopt;
    const auto value = string();
    if (!value || !fields.emplace(*key, *value).second) return std::nullopt;
  } while (take(','));
  if (!take('}') || at != line.size()) return std::nullopt;
  return fields;
}

TEST(LogLine, TextIsWordsAndPairs) {
  EXPECT_EQ(format_log_line(LogFormat::text, kTime, LogLevel::info, "tablet", flushed()),
            "2026-05-20T16:27:23.001Z info tablet: flushed tablet=7 cells=12");
  EXPECT_EQ(format_log_line(LogFormat::text, "t", LogLevel::warn, "r",
                            log_record("closed error=\"{}\" blob={:04x} name={} to={}:{}", "gone",
                                       255, "a b", "h", 1)),
            "t warn r: closed error=\"gone\" blob=00ff name=\"a b\" to=h:1");
}

TEST(LogLine, JsonHasTheWordsAndEveryPair) {
  EXPECT_EQ(format_log_line(
                LogFormat::json, kTime, LogLevel::warn, "server",
                log_record("accept failed shard={} error=\"{}\" us={}", 1, "no \"file\" left", 3)),
            R"({"ts":"2026-05-20T16:27:23.001Z","level":"warn","component":"server",)"
            R"("msg":"accept failed","shard":"1","error":"no \"file\" left","us":"3"})");
}

TEST(LogLine, WordsMayFollowPairs) {
  const LogRecord record =
      log_record("table={} reshape given up after {} us: {} us={}", 4, 10, "it ended", 2);
  EXPECT_EQ(format_log_line(LogFormat::text, "t", LogLevel::info, "r", record),
            "t info r: table=4 reshape given up after 10 us: it ended us=2");
  EXPECT_EQ(format_log_line(LogFormat::json, "t", LogLevel::info, "r", record),
            R"({"ts":"t","level":"info","component":"r",)"
            R"("msg":"reshape given up after 10 us: it ended","table":"4","us":"2"})");
  EXPECT_EQ(format_log_line(LogFormat::json, "t", LogLevel::info, "r", log_record("x={{{}}}", 1)),
            R"({"ts":"t","level":"info","component":"r","msg":"","x":"{1}"})");
}

TEST(LogLine, IsOneLineWhateverIsInIt) {
  const LogRecord record = log_record("a {} k=\"{}\"", "b\r\x1b[31m", "v\n\xc2\x9b");
  EXPECT_EQ(format_log_line(LogFormat::text, "t", LogLevel::info, "r", record),
            "t info r: a b\\u000d\\u001b[31m k=\"v\\u000a\\u009b\"");
  EXPECT_EQ(format_log_line(LogFormat::json, "t", LogLevel::info, "r", record),
            R"({"ts":"t","level":"info","component":"r","msg":"a b\u000d\u001b[31m",)"
            R"("k":"v\u000a\u009b"})");
}

// Whatever the arguments contain, a line has the keys of its format string with these arguments as
// values.
TEST(LogLine, NoArgumentForgesAField) {
  const std::string texts[] = {
      "",
      " ",
      "x\" code=OK peer=10.0.0.1",
      "x\\\" code=OK peer=10.0.0.1",
      "x\\",
      "\\",
      "\"",
      "\" k=\"",
      "code=OK",
      " code=OK ",
      "a\ncode=OK",
      "a\r\n2026-05-20T16:27:23.001Z error server: forged",
      "{}",
      "{0}",
      "\",\"level\":\"debug\",\"x\":\"",
      "\x1b[2J",
      "\xc2\x9b"
      "2J",
      "caf\xc3\xa9 \xe2\x82\xac \xf0\x9f\x92\xbe",
      std::string("a\0b", 3),
      std::string(300, '"'),
  };
  for (const std::string& text : texts) {
    for (const std::string& other : texts) {
      const LogRecord record =
          log_record("took {} op={} client=\"{}\" n={} in all: {}", text, text, other, 5, other);
      const std::string line =
          format_log_line(LogFormat::text, "t", LogLevel::warn, "slow", record);
      EXPECT_EQ(line.find('\n'), std::string::npos);
      EXPECT_EQ(line.find('\x1b'), std::string::npos);
      const ReadLine read = read_text(line);
      const Fields wanted = {{"op", text}, {"client", other}, {"n", "5"}};
      EXPECT_EQ(read.fields, wanted) << line;
      EXPECT_EQ(read.words, fmt::format("took {} in all: {}", text, other)) << line;
      const std::string json =
          format_log_line(LogFormat::json, "t", LogLevel::warn, "slow", record);
      const auto parsed = read_json(json);
      ASSERT_TRUE(parsed) << json;
      Fields all = wanted;
      all.insert({{"ts", "t"},
                  {"level", "warn"},
                  {"component", "slow"},
                  {"msg", fmt::format("took {} in all: {}", text, other)}});
      EXPECT_EQ(*parsed, all) << json;
    }
  }
}

TEST(LogLine, IsUtf8WhateverBytesAreInIt) {
  // Truncated, overlong, a surrogate, beyond Unicode, and not UTF-8 at all.
  for (const std::string& bytes :
       {std::string("\xff"), std::string("\xc3"), std::string("\xc0\xaf"),
        std::string("\xed\xa0\x80"), std::string("\xf4\x90\x80\x80"), std::string("\xe2\x82")}) {
    const LogRecord record = log_record("k={}", "a" + bytes + "z");
    std::string hex;
    for (const char c : bytes) hex += fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
    EXPECT_EQ(format_log_line(LogFormat::text, "t", LogLevel::info, "r", record),
              "t info r: k=\"a" + hex + "z\"");
    const std::string json = format_log_line(LogFormat::json, "t", LogLevel::info, "r", record);
    EXPECT_TRUE(std::ranges::all_of(json, [](char c) { return c >= ' ' && c < '\x7f'; })) << json;
    const auto parsed = read_json(json);
    ASSERT_TRUE(parsed) << json;
    EXPECT_EQ(parsed->at("k"), "a" + hex + "z");
  }
}

TEST(LogRepeatsTest, LetsABurstThroughAndSaysHowManyItHeldBack) {
  LogRepeats repeats;
  int64_t now_us = 1'000'000'000;
  for (uint32_t i = 0; i < kLogBurst; ++i) {
    EXPECT_TRUE(repeats.count("server", "accept failed", now_us).write);
  }
  for (int i = 0; i < 7; ++i) {
    EXPECT_FALSE(repeats.count("server", "accept failed", ++now_us).write);
  }
  now_us += kLogWindowUs;
  const auto next = repeats.count("server", "accept failed", now_us);
  EXPECT_TRUE(next.write);
  EXPECT_EQ(next.left_out, 7u);
  EXPECT_EQ(repeats.count("server", "accept failed", now_us).left_out, 0u);
}

TEST(LogNames, AreReadBackAndOthersRefused) {
  for (const LogLevel level : {LogLevel::debug, LogLevel::warn, LogLevel::off}) {
    EXPECT_EQ(*parse_log_level(log_level_name(level)), level);
  }
  EXPECT_EQ(*parse_log_format("json"), LogFormat::json);
  const auto refused = parse_log_level("loud");
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("debug, info, warn, error, off"), std::string::npos);
}

}  // namespace
}  // namespace cellar
