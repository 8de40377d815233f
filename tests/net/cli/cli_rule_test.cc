// Retention rules as text: parsing, printing, and the agreement of the two.
#include <gtest/gtest.h>

#include <functional>

#include "io/base/random.h"
#include "net/cli/parse/rule_text.h"

namespace cellar::cli {
namespace {

using client::RetentionRule;
using Kind = RetentionRule::Kind;

std::string canonical(std::string_view text) {
  const auto rule = parse_rule(text);
  EXPECT_TRUE(rule) << text << ": " << rule.error().message;
  return rule ? rule_text(*rule) : "";
}

TEST(RuleText, WhatPeopleWriteBecomesOneForm) {
  EXPECT_EQ(canonical("maxage=2d"), "maxage=2d");
  EXPECT_EQ(canonical("  maxage = 48h "), "maxage=2d");
  EXPECT_EQ(canonical("max_versions=3"), "maxversions=3");
  EXPECT_EQ(canonical("maxversions=3 || maxage=2d"), "maxversions=3 or maxage=2d");
  EXPECT_EQ(canonical("maxversions=7||maxage=8h"), "maxversions=7 or maxage=8h");
  EXPECT_EQ(canonical("maxage=2d && maxversions=2"), "maxage=2d and maxversions=2");
  EXPECT_EQ(canonical("maxage=30d or (maxage=3d and maxversions=100)"),
            "maxage=30d or (maxage=3d and maxversions=100)");
  EXPECT_EQ(canonical("((maxage=1s))"), "maxage=1s");
  EXPECT_EQ(canonical("(maxage=1s or maxage=2s) or maxage=3s"),
            "maxage=1s or maxage=2s or maxage=3s");
  EXPECT_EQ(canonical("never"), "never");
  EXPECT_EQ(canonical(" none"), "never");
}

TEST(RuleText, AndBindsTighterThanOr) {
  EXPECT_EQ(canonical("maxage=1d and maxversions=2 or maxversions=9"),
            "(maxage=1d and maxversions=2) or maxversions=9");
}

TEST(RuleText, WhereCbtWouldReadSomethingElseParenthesesAreAskedFor) {
  const auto rule = parse_rule("maxage=1d or maxversions=9 and maxage=30d");
  ASSERT_FALSE(rule);
  EXPECT_EQ(rule.error().message,
            "the rule, column 28: expected 'or', or parentheses that tell what the 'and' joins, "
            "found 'and'\n"
            "  maxage=1d or maxversions=9 and maxage=30d\n"
            "                             ^");
}

TEST(RuleText, ErrorsPointAtTheColumn) {
  const auto wrong = [](std::string_view text, size_t column, std::string_view expected) {
    const auto rule = parse_rule(text);
    ASSERT_FALSE(rule) << text;
    EXPECT_NE(rule.error().message.find(fmt::format("column {}: ", column)), std::string::npos)
        << rule.error().message;
    EXPECT_NE(rule.error().message.find(expected), std::string::npos) << rule.error().message;
  };
  wrong("", 1, "expected maxage=DURATION, maxversions=N or '(', found the end");
  wrong("maxage", 7, "expected '=' behind maxage, found the end");
  wrong("maxage=", 8, "expected a duration of at least 1ms");
  wrong("maxage=2", 8, "found '2'");
  wrong("maxage=999us", 8, "at least 1ms");
  wrong("maxage=99999999999999d", 8, "a duration");
  wrong("maxversions=0", 13, "a whole number from 1 on");
  wrong("maxversions=x", 13, "found 'x'");
  wrong("maxversions=99999999999999999999", 13, "a whole number");
  wrong("maxage=2d maxversions=3", 11, "'and', 'or' or the end");
  wrong("maxage=2d or", 13, "found the end");
  wrong("maxage=2d or maxagee=1d", 14, "found 'maxagee'");
  wrong("(maxage=2d", 11, "')'");
  wrong("maxage=2d)", 10, "the end of the rule");
  wrong("maxage=2d | maxage=3d", 11, "found '|'");
  wrong("never or maxage=2d", 7, "the end of the rule");
  wrong("maxage=2d or never", 14, "found 'never'");
  wrong(std::string(65, '(') + "maxage=1d", 65, "fewer parentheses");
}

TEST(RuleText, NestsAsDeepAsARuleMayAndNoDeeper) {
  const auto nested = [](int groups) {
    std::string text = "maxversions=1";
    for (int i = 0; i < groups; ++i) {
      text = fmt::format("maxversions={} {} ({})", i + 2, i % 2 == 0 ? "or" : "and", text);
    }
    return text;
  };
  EXPECT_TRUE(parse_rule(nested(16)));
  const auto deeper = parse_rule(nested(18));
  ASSERT_FALSE(deeper);
  EXPECT_EQ(deeper.error().message, "the rule is nested deeper than 16");
}

// ---- properties

RetentionRule random_rule(Random& random, int depth = 0) {
  constexpr int64_t kUnits[] = {1000, 1'000'000, 60'000'000, 3'600'000'000, 86'400'000'000, 7001};
  const uint64_t dice = random.below(depth >= 4 ? 6 : 12);
  if (dice < 3) return RetentionRule::max_versions(1 + static_cast<int64_t>(random.below(9)));
  if (dice < 6) {
    return RetentionRule::max_age_us(kUnits[random.below(std::size(kUnits))] *
                                     (1 + static_cast<int64_t>(random.below(40))));
  }
  std::vector<RetentionRule> parts;
  for (uint64_t n = 1 + random.below(3); n > 0; --n)
    parts.push_back(random_rule(random, depth + 1));
  return dice < 9 ? RetentionRule::any_of(std::move(parts))
                  : RetentionRule::all_of(std::move(parts));
}

bool due(const RetentionRule& rule, int64_t age_us, int64_t rank) {
  switch (rule.kind) {
    case Kind::max_versions:
      return rank >= rule.value;
    case Kind::max_age:
      return age_us > rule.value;
    case Kind::any:
      return std::ranges::any_of(rule.parts, [&](const auto& p) { return due(p, age_us, rank); });
    default:
      return std::ranges::all_of(rule.parts, [&](const auto& p) { return due(p, age_us, rank); });
  }
}

// The rule with random spellings, signs, blanks and parentheses.
std::string scribbled(const RetentionRule& rule, Random& random) {
  const auto blank = [&] { return std::string(random.below(3), ' '); };
  std::string text;
  if (rule.kind == Kind::max_versions || rule.kind == Kind::max_age) {
    text = rule_text(rule);
    const size_t equals = text.find('=');
    text = text.substr(0, equals) + blank() + "=" + blank() + text.substr(equals + 1);
  } else {
    const bool any = rule.kind == Kind::any;
    for (const RetentionRule& part : rule.parts) {
      if (!text.empty()) {
        const bool sign = random.below(2) == 0;
        text += sign ? blank() + (any ? "||" : "&&") + blank() : any ? " or " : " and ";
      }
      text += "(" + scribbled(part, random) + ")";
    }
  }
  if (random.below(4) == 0) text = "(" + blank() + text + blank() + ")";
  return blank() + text;
}

TEST(RuleText, PrintedAndReadItIsTheSameAndMeansTheSame) {
  Random random(20261121);
  for (int round = 0; round < 3000; ++round) {
    const RetentionRule rule = random_rule(random);
    const std::string text = rule_text(rule);
    const std::string written = scribbled(rule, random);
    for (const std::string& each : {text, written}) {
      const auto read = parse_rule(each);
      ASSERT_TRUE(read && *read) << each << ": " << read.error().message;
      ASSERT_EQ(rule_text(*read), text) << each;
      for (int i = 0; i < 20; ++i) {
        const auto age_us = static_cast<int64_t>(random.below(40 * 86'400'000'000ull));
        const auto rank = static_cast<int64_t>(random.below(11));
        ASSERT_EQ(due(**read, age_us, rank), due(rule, age_us, rank)) << each;
      }
    }
  }
}

TEST(RuleText, WhatIsNoRuleIsRefusedAndHurtsNothing) {
  Random random(7);
  constexpr std::string_view kPieces[] = {
      "maxage", "=",  "2d", "maxversions", "3", "(",    ")",  " or ",
      " and ",  "||", "&&", "never",       " ", "\xff", "\0", "|"};
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (uint64_t n = random.below(12); n > 0; --n)
      text += kPieces[random.below(std::size(kPieces))];
    const auto rule = parse_rule(text);
    if (!rule) continue;
    EXPECT_EQ(canonical(rule_text(*rule)), rule_text(*rule)) << text;
  }
}

TEST(RuleText, AClauseIsNamedByItsPlaceInTheTree) {
  const auto rule = **parse_rule("maxage=30d or (maxage=3d and maxversions=100)");
  EXPECT_EQ(rule_text(*rule_clause(rule, 1)), "maxage=30d");
  EXPECT_EQ(rule_text(*rule_clause(rule, 2)), "maxage=3d and maxversions=100");
  EXPECT_EQ(rule_text(*rule_clause(rule, 4)), "maxversions=100");
  EXPECT_EQ(rule_clause(rule, 5), nullptr);
}

}  // namespace
}  // namespace cellar::cli
