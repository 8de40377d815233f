#include "engine/retention/explain.h"

namespace cellar::engine {
namespace {

using Kind = RuleNode::Kind;

std::optional<size_t> matching_part(const RetentionRule& rule, size_t& next,
                                    const RuleQuestion& question) {
  const size_t index = next++;
  const RuleNode& node = rule.nodes[index];
  const auto answer = [index](bool due) { return due ? std::optional(index) : std::nullopt; };
  if (node.kind == Kind::max_versions)
    return answer(question.rank >= static_cast<uint64_t>(node.value));
  if (node.kind == Kind::max_age)
    return answer(!question.own_expiry && question.age_us > node.value);
  std::optional<size_t> first;
  bool every = true;
  for (uint32_t i = 0; i < node.children; ++i) {
    const auto part = matching_part(rule, next, question);
    if (part && !first) first = part;
    every = every && part.has_value();
  }
  if (node.kind == Kind::union_of) return first;
  return node.children == 1 ? first : answer(every);
}

}  // namespace

std::optional<size_t> matching_clause(const RetentionRule& rule, const RuleQuestion& question) {
  if (rule.nodes.empty()) return std::nullopt;
  size_t next = 0;
  return matching_part(rule, next, question);
}

const RetentionRule& rule_at(const FamilySchema& family, Instant instant) {
  for (const PastRule& past : family.history) {
    if (instant < instant_of(past.until)) return past.rule;
  }
  return family.rule;
}

}  // namespace cellar::engine
