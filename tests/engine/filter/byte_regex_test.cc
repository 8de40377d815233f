// Regular expressions match bytes and must match the whole input; their cost is bounded.
#include "engine/filter/byte_regex.h"

#include <gtest/gtest.h>

#include "engine/model/filter_spec.h"
#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

std::unique_ptr<ByteRegex> compile(Bytes pattern) {
  auto regex = ByteRegex::compile(pattern, regex_memory_share(pattern.size(), 1, pattern.size()),
                                  "the pattern");
  EXPECT_TRUE(regex.has_value()) << regex.error().to_string();
  return regex ? *std::move(regex) : nullptr;
}

bool matches(Bytes pattern, Bytes input) {
  const auto regex = compile(pattern);
  return regex && regex->matches(input);
}

TEST(ByteRegex, MatchesTheWholeInput) {
  EXPECT_TRUE(matches(".*j.*", "jadams"));
  EXPECT_FALSE(matches("j", "jadams"));
  EXPECT_TRUE(matches("|a", ""));
  EXPECT_TRUE(matches("|a", "a"));
  EXPECT_FALSE(matches("|a", "x"));
  EXPECT_FALSE(matches("row", "ROW"));
  EXPECT_TRUE(matches("(abc|.*h.*)", "fgh"));
  EXPECT_FALSE(matches("a|ab|c", "abc"));
  EXPECT_TRUE(matches("a|ab|abc", "abc"));
}

TEST(ByteRegex, IsOverBytes) {
  EXPECT_TRUE(matches("..", "\xc3\xa9"));
  EXPECT_FALSE(matches(".", "\xc3\xa9"));
  EXPECT_TRUE(matches("\xc3\xa9", "\xc3\xa9"));
  EXPECT_TRUE(matches("\\xC3.", "\xc3\xa9"));
  EXPECT_TRUE(matches("[\\x7f\\x80]{2}", "\x80\x80"));
  EXPECT_TRUE(matches("\\C{3}", Bytes("\0\n\xff", 3)));
  EXPECT_TRUE(matches(Bytes("a\0b", 3), Bytes("a\0b", 3)));
  EXPECT_TRUE(matches("a\\x00b", Bytes("a\0b", 3)));
  EXPECT_FALSE(matches("a\\x00b", Bytes("a\0", 2)));
}

TEST(ByteRegex, DotIsNotTheNewline) {
  EXPECT_FALSE(matches(".*", "l1\nl2"));
  EXPECT_FALSE(matches("l1", "l1\nl2"));
  EXPECT_FALSE(matches("l1$", "l1\n"));
  EXPECT_TRUE(matches("\\C*", "l1\nl2"));
  EXPECT_TRUE(matches("(?s).*", "l1\nl2"));
}

TEST(ByteRegex, WhatIsMalformedIsRefusedByName) {
  for (const Bytes pattern : {"[", "(", "*a", "a\\xC.+", "a{2,1}", "(?=a)", "\\1", "a{1001}"}) {
    const auto regex = ByteRegex::compile(pattern, 1u << 20, "filter node 7, value_regex");
    ASSERT_FALSE(regex.has_value()) << pattern;
    EXPECT_EQ(regex.error().code, Errc::invalid_argument);
    EXPECT_NE(regex.error().message.find("filter node 7"), std::string::npos);
  }
}

TEST(ByteRegex, MemoryIsShared) {
  for (const size_t count : {1u, 10u, 100u, 1280u}) {
    const size_t total_bytes = kMaxFilterBytes - count * kFilterNodeBytes;
    size_t given = 0;
    for (size_t i = 0; i < count; ++i)
      given += regex_memory_share(total_bytes / count, count, total_bytes);
    EXPECT_LE(given, kRegexMemoryBytes) << count;
    EXPECT_GE(given, kRegexMemoryBytes / 16) << count;
  }
  // Large literals fit next to other nodes; an expression larger than its share does not.
  const std::string literal(kMaxFilterBytes - kFilterNodeBytes, 'x');
  EXPECT_TRUE(matches(literal, literal));
  const std::string half(literal, 0, literal.size() / 2);
  const size_t share = regex_memory_share(half.size(), 1000, half.size() + 1000);
  EXPECT_TRUE(ByteRegex::compile(half, share, "").has_value());
  const auto refused = ByteRegex::compile("(a{30}){30}", 4096, "it");
  ASSERT_FALSE(refused.has_value());
  EXPECT_NE(refused.error().message.find("share of"), std::string::npos) << refused.error().message;
}

// A row outside of possible_range() never matches.
TEST(ByteRegex, PossibleRowsLeaveNoMatchOut) {
  static const char* const kParts[] = {"a",     "b",     "ab", ".",   ".*",     "[ab]",
                                       "(a|b)", "b?",    "a+", "\\C", "",       "|",
                                       "\xff",  "(?i)a", "^",  "$",   "\\xff*", "a{3}"};
  static const char* const kLetters[] = {"a", "b", "A", "\xff", "\n", "c"};
  for (const uint64_t seed : test_seeds(4)) {
    Random random(seed);
    for (int round = 0; round < 300; ++round) {
      std::string pattern;
      for (uint64_t i = 0, n = 1 + random.below(5); i < n; ++i)
        pattern += kParts[random.below(std::size(kParts))];
      const auto regex = ByteRegex::compile(pattern, 1u << 20, "");
      if (!regex) continue;
      const KeyRange rows = (*regex)->possible_range();
      for (int i = 0; i < 60; ++i) {
        std::string row;
        for (uint64_t k = 0, n = random.below(7); k < n; ++k)
          row += kLetters[random.below(std::size(kLetters))];
        if (random.one_in(10)) row += std::string(100, random.one_in(2) ? 'a' : '\xff');
        if ((*regex)->matches(row)) {
          EXPECT_TRUE(rows.contains(row))
              << "seed " << seed << ": '" << pattern << "' matches '" << escape_bytes(row)
              << "' outside of ['" << escape_bytes(rows.start) << "', '" << escape_bytes(rows.end)
              << "')";
        }
      }
    }
  }
}

// A prefix of greatest bytes has no upper bound; such rows were once missing.
TEST(ByteRegex, APrefixOfTheGreatestByteHasNoEnd) {
  for (const Bytes pattern : {"\xff.*", "^\xff\\C*", "\xff*", "\xff+.*", "(\xff\xff)+"}) {
    const KeyRange rows = compile(pattern)->possible_range();
    for (const Bytes row : {"\xff\xff", "\xff\xff\xff\xff"}) {
      ASSERT_TRUE(matches(pattern, row)) << escape_bytes(pattern);
      EXPECT_TRUE(rows.contains(row)) << escape_bytes(pattern);
    }
  }
  EXPECT_EQ(compile("^\xff.*")->possible_range().start, "\xff");
}

TEST(ByteRegex, APrefixNarrowsTheRows) {
  const auto rows = [](Bytes pattern) { return compile(pattern)->possible_range(); };
  EXPECT_EQ(rows("user#12.*").start, "user#12");
  EXPECT_FALSE(rows("user#12.*").contains("user#2"));
  EXPECT_FALSE(rows("user#12.*").contains("user#14"));
  EXPECT_TRUE(rows("abc").contains("abc"));
  EXPECT_FALSE(rows("abc").contains("abd"));
  EXPECT_TRUE(rows(".*abc").contains("zzz"));
}

}  // namespace
}  // namespace cellar::engine
