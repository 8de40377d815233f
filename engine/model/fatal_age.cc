#include "engine/model/fatal_age.h"

#include <algorithm>

namespace cellar {
namespace {

using RuleKind = RuleNode::Kind;

std::optional<int64_t> age_of_node(const RetentionRule& rule, size_t& next) {
  const RuleNode& node = rule.nodes[next++];
  if (node.kind == RuleKind::max_age) return node.value;
  if (node.kind == RuleKind::max_versions) return std::nullopt;
  const bool every = node.kind == RuleKind::intersection_of;
  bool missing = false;
  std::optional<int64_t> age;
  for (uint32_t i = 0; i < node.children; ++i) {
    const std::optional<int64_t> part = age_of_node(rule, next);
    missing |= !part;
    if (part) age = !age ? *part : every ? std::max(*age, *part) : std::min(*age, *part);
  }
  return every && missing ? std::nullopt : age;
}

}  // namespace

std::optional<int64_t> fatal_age_us(const RetentionRule& rule) {
  if (rule.keeps_everything()) return std::nullopt;
  size_t next = 0;
  return age_of_node(rule, next);
}

}  // namespace cellar
