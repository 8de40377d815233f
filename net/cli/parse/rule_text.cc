#include "net/cli/parse/rule_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "engine/model/retention_rule.h"
#include "net/cli/text/times.h"

namespace cellar::cli {

namespace {

using client::RetentionRule;
using RuleKind = RetentionRule::Kind;

constexpr size_t kMaxParentheses = 64;  // open at once; a rule of the maximum depth needs fewer

bool is_group(const RetentionRule& rule) {
  return rule.kind == RuleKind::any || rule.kind == RuleKind::all;
}

size_t depth_of(const RetentionRule& rule) {
  size_t deepest = 0;
  for (const RetentionRule& part : rule.parts) deepest = std::max(deepest, depth_of(part));
  return deepest + (is_group(rule) ? 1 : 0);
}

// Flattens nested groups of the same kind; a group of one part becomes that part.
RetentionRule grouped(RuleKind kind, std::vector<RetentionRule> parts) {
  RetentionRule group{kind, 0, {}};
  for (RetentionRule& part : parts) {
    if (part.kind == kind) {
      std::move(part.parts.begin(), part.parts.end(), std::back_inserter(group.parts));
    } else {
      group.parts.push_back(std::move(part));
    }
  }
  if (group.parts.size() != 1) return group;
  return RetentionRule(std::move(group.parts.front()));
}

RetentionRule flat(const RetentionRule& rule) {
  if (!is_group(rule)) return rule;
  std::vector<RetentionRule> parts;
  for (const RetentionRule& part : rule.parts) parts.push_back(flat(part));
  return grouped(rule.kind, std::move(parts));
}

// clang-format off
//   rule        := conjunction (or conjunction)*
//   conjunction := term (and term)*                 (one term only, after an or)
//   term        := maxage=DURATION | maxversions=N | ( rule )
// clang-format on
class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) { advance(); }

  Result<Rule> whole() {
    if (word_ == "never" || word_ == "none") {
      advance();
      TRY_VOID(end());
      return Rule();
    }
    TRY(RetentionRule rule, alternatives());
    TRY_VOID(end());
    if (depth_of(rule) > kMaxRuleDepth) {
      return cellar::fail(Errc::invalid_argument, "the rule is nested deeper than {}",
                          kMaxRuleDepth);
    }
    return Rule(std::move(rule));
  }

 private:
  Result<void> end() {
    if (!word_.empty()) return wrong("'and', 'or' or the end of the rule");
    return {};
  }

  Result<RetentionRule> alternatives() {
    std::vector<RetentionRule> parts;
    do {
      TRY(RetentionRule part, conjunctions(parts.empty()));
      parts.push_back(std::move(part));
    } while (eat("or", "||"));
    return grouped(RuleKind::any, std::move(parts));
  }

  // After an `or`, cbt would join everything before it to the next part.
  Result<RetentionRule> conjunctions(bool first) {
    std::vector<RetentionRule> parts;
    do {
      TRY(RetentionRule part, term());
      parts.push_back(std::move(part));
      if (!first && is("and", "&&")) {
        return wrong("'or', or parentheses that tell what the 'and' joins");
      }
    } while (eat("and", "&&"));
    return grouped(RuleKind::all, std::move(parts));
  }

  Result<RetentionRule> term() {
    if (word_ == "(") {
      if (open_ == kMaxParentheses) return wrong("fewer parentheses");
      ++open_;
      advance();
      TRY(RetentionRule rule, alternatives());
      if (word_ != ")") return wrong("'and', 'or' or ')'");
      --open_;
      advance();
      return rule;
    }
    const bool age = word_ == "maxage" || word_ == "max_age";
    if (!age && word_ != "maxversions" && word_ != "max_versions") {
      return wrong("maxage=DURATION, maxversions=N or '('");
    }
    const std::string name(word_);
    advance();
    if (word_ != "=") return wrong(fmt::format("'=' behind {}", name));
    advance();
    return age ? max_age() : max_versions();
  }

  Result<RetentionRule> max_age() {
    const auto us = parse_duration(word_);
    if (!us || *us < kMinRuleAgeUs) return wrong("a duration of at least 1ms, like 10s, 36h or 2d");
    advance();
    return RetentionRule::max_age_us(*us);
  }
  Result<RetentionRule> max_versions() {
    int64_t n = 0;
    const char* const last = word_.data() + word_.size();
    const auto [stop, error] = std::from_chars(word_.data(), last, n);
    if (error != std::errc() || stop != last || n < 1) return wrong("a whole number from 1 on");
    advance();
    return RetentionRule::max_versions(n);
  }

  bool is(std::string_view word, std::string_view sign) const {
    return word_ == word || word_ == sign;
  }
  bool eat(std::string_view word, std::string_view sign) {
    if (!is(word, sign)) return false;
    advance();
    return true;
  }

  // A run of letters, digits and '_', or a sign; empty at the end.
  void advance() {
    const auto in_word = [](char c) {
      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
    };
    at_ += word_.size();
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\t')) ++at_;
    size_t size = 0;
    while (at_ + size < text_.size() && in_word(text_[at_ + size])) ++size;
    const std::string_view rest = text_.substr(at_);
    if (size == 0 && !rest.empty()) size = rest.starts_with("||") || rest.starts_with("&&") ? 2 : 1;
    word_ = rest.substr(0, size);
  }

  std::unexpected<Error> wrong(std::string_view expected) const {
    const std::string found = word_.empty() ? "the end" : fmt::format("'{}'", word_);
    return cellar::fail(Errc::invalid_argument,
                        "the rule, column {}: expected {}, found {}\n  {}\n  {:>{}}", at_ + 1,
                        expected, found, text_, '^', at_ + 1);
  }

  const std::string_view text_;
  size_t at_ = 0;          // of word_
  std::string_view word_;  // the next one
  size_t open_ = 0;        // parentheses
};

std::string text_of(const RetentionRule& rule, bool inside) {
  if (rule.kind == RuleKind::max_age) return "maxage=" + exact_duration(rule.value);
  if (rule.kind == RuleKind::max_versions) return fmt::format("maxversions={}", rule.value);
  std::string text;
  for (const RetentionRule& part : rule.parts) {
    if (!text.empty()) text += rule.kind == RuleKind::any ? " or " : " and ";
    text += text_of(part, true);
  }
  return inside ? "(" + text + ")" : text;
}

const RetentionRule* find_clause(const RetentionRule& rule, size_t& left) {
  if (left == 0) return &rule;
  --left;
  for (const RetentionRule& part : rule.parts) {
    if (const RetentionRule* found = find_clause(part, left)) return found;
  }
  return nullptr;
}

}  // namespace

Result<Rule> parse_rule(std::string_view text) { return Parser(text).whole(); }

std::string rule_text(const Rule& rule) { return rule ? text_of(flat(*rule), false) : "never"; }

const client::RetentionRule* rule_clause(const client::RetentionRule& rule, size_t index) {
  return find_clause(rule, index);
}

}  // namespace cellar::cli
