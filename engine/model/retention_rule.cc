#include "engine/model/retention_rule.h"

#include <fmt/format.h>

#include <algorithm>

#include "io/base/time_text.h"

namespace cellar {
namespace {

using RuleKind = RuleNode::Kind;

RetentionRule combine(RuleKind kind, const std::vector<RetentionRule>& parts) {
  RetentionRule rule;
  rule.nodes.push_back({kind, static_cast<uint32_t>(parts.size()), 0});
  for (const RetentionRule& part : parts) {
    rule.nodes.insert(rule.nodes.end(), part.nodes.begin(), part.nodes.end());
  }
  return rule;
}

bool is_group(RuleKind kind) {
  return kind == RuleKind::union_of || kind == RuleKind::intersection_of;
}

Result<void> check_node(const RetentionRule& rule, size_t& next, size_t depth) {
  if (next == rule.nodes.size())
    return fail(Errc::invalid_argument, "the rule's tree needs more than its {} nodes",
                rule.nodes.size());
  const size_t index = next++;
  const RuleNode& node = rule.nodes[index];
  if (is_group(node.kind)) {
    const char* name = node.kind == RuleKind::union_of ? "union" : "intersection";
    if (node.children == 0)
      return fail(Errc::invalid_argument, "rule node {}: an empty {}", index, name);
    if (depth == kMaxRuleDepth)
      return fail(Errc::invalid_argument, "the rule is nested deeper than {}", kMaxRuleDepth);
    for (uint32_t i = 0; i < node.children; ++i) TRY_VOID(check_node(rule, next, depth + 1));
    return {};
  }
  if (node.children != 0)
    return fail(Errc::invalid_argument, "rule node {} takes no parts, not {}", index,
                node.children);
  if (node.kind == RuleKind::max_versions) {
    if (node.value >= 1) return {};
    return fail(Errc::invalid_argument, "rule node {}: max_versions of {} is below 1", index,
                node.value);
  }
  if (node.kind == RuleKind::max_age) {
    if (node.value >= kMinRuleAgeUs) return {};
    return fail(Errc::invalid_argument, "rule node {}: max_age of {} is below {}", index,
                duration_text(node.value), duration_text(kMinRuleAgeUs));
  }
  return fail(Errc::invalid_argument, "rule node {}: kind {} does not exist", index,
              static_cast<int>(node.kind));
}

void describe_node(const RetentionRule& rule, size_t& next, bool inside, std::string& out) {
  const RuleNode& node = rule.nodes[next++];
  if (node.kind == RuleKind::max_versions) {
    out += fmt::format("maxversions={}", node.value);
  } else if (node.kind == RuleKind::max_age) {
    out += "maxage=" + duration_text(node.value);
  } else {
    const bool parentheses = inside && node.children > 1;
    if (parentheses) out += '(';
    for (uint32_t i = 0; i < node.children && next < rule.nodes.size(); ++i) {
      if (i > 0) out += node.kind == RuleKind::union_of ? " or " : " and ";
      describe_node(rule, next, true, out);
    }
    if (parentheses) out += ')';
  }
}

}  // namespace

bool RetentionRule::has(RuleKind kind) const {
  return std::any_of(nodes.begin(), nodes.end(),
                     [kind](const RuleNode& node) { return node.kind == kind; });
}

RetentionRule RetentionRule::union_of(const std::vector<RetentionRule>& parts) {
  return combine(RuleKind::union_of, parts);
}
RetentionRule RetentionRule::intersection_of(const std::vector<RetentionRule>& parts) {
  return combine(RuleKind::intersection_of, parts);
}

Result<void> validate_rule(const RetentionRule& rule) {
  if (rule.nodes.empty()) return {};
  if (rule.nodes.size() > kMaxRuleNodes)
    return fail(Errc::invalid_argument, "the rule has {} nodes; at most {} are allowed",
                rule.nodes.size(), kMaxRuleNodes);
  size_t next = 0;
  TRY_VOID(check_node(rule, next, 0));
  if (next != rule.nodes.size())
    return fail(Errc::invalid_argument, "the rule has {} nodes beside its tree",
                rule.nodes.size() - next);
  return {};
}

void put_rule(std::string& out, const RetentionRule& rule) {
  put_varint(out, rule.nodes.size());
  for (const RuleNode& node : rule.nodes) {
    put_u8(out, static_cast<uint8_t>(node.kind));
    put_varint(out, node.children);
    put_varint(out, static_cast<uint64_t>(node.value));
  }
}

RetentionRule read_rule(Reader& in) {
  RetentionRule rule;
  const uint64_t count = in.varint();
  for (uint64_t i = 0; i < count && in.ok(); ++i) {
    RuleNode node;
    node.kind = static_cast<RuleKind>(in.u8());
    node.children = static_cast<uint32_t>(in.varint());
    node.value = static_cast<int64_t>(in.varint());
    if (in.ok()) rule.nodes.push_back(node);
  }
  return rule;
}

std::string describe_rule(const RetentionRule& rule) {
  if (rule.nodes.empty()) return "keep everything";
  std::string out;
  size_t next = 0;
  describe_node(rule, next, false, out);
  return out;
}

}  // namespace cellar
