#include <gtest/gtest.h>

#include "io/base/log_setup.h"

namespace cellar {
namespace {

constexpr std::string_view kTime = "2026-05-20T16:27:23.001Z";

TEST(LogLine, TextIsAsItWasWritten) {
  EXPECT_EQ(format_log_line(LogFormat::text, kTime, LogLevel::info, "tablet",
                            "flushed tablet=7 cells=12"),
            "2026-05-20T16:27:23.001Z info tablet: flushed tablet=7 cells=12");
}

TEST(LogLine, JsonHasTheWordsAndEveryPair) {
  EXPECT_EQ(format_log_line(LogFormat::json, kTime, LogLevel::warn, "server",
                            "accept failed shard=1 error=\"no \"file\" left\" us=3"),
            R"({"ts":"2026-05-20T16:27:23.001Z","level":"warn","room":"server",)"
            R"("msg":"accept failed","shard":"1","error":"no \"file\" left","us":"3"})");
}

TEST(LogLine, WordsAloneAndPairsAlone) {
  EXPECT_EQ(log_event("began a new log"), "began a new log");
  EXPECT_EQ(log_event("io backend=threads"), "io");
  EXPECT_EQ(log_event("a=1"), "");
  EXPECT_EQ(log_event(""), "");
  EXPECT_EQ(format_log_line(LogFormat::json, "t", LogLevel::error, "r", "x=1 =2 y="),
            R"({"ts":"t","level":"error","room":"r","msg":"","x":"1","y":""})");
}

TEST(LogLine, IsOneLineWhateverIsInIt) {
  const std::string text =
      format_log_line(LogFormat::text, "t", LogLevel::info, "r", "a\nb\r\x1b[31m k=\"v\n\"");
  EXPECT_EQ(text, "t info r: a\\x0ab\\x0d\\x1b[31m k=\"v\\x0a\"");
  const std::string json =
      format_log_line(LogFormat::json, "t", LogLevel::info, "r", "a\nb k=\"v\n\\\"");
  EXPECT_EQ(json, R"({"ts":"t","level":"info","room":"r","msg":"a\u000ab","k":"v\u000a\\"})");
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
