#include "net/wire/rule_codec.h"

namespace cellar::wire {

using Kind = cellar::RuleNode::Kind;
static_assert(static_cast<int>(Kind::max_versions) == static_cast<int>(fb::RuleKind::MaxVersions));
static_assert(static_cast<int>(Kind::max_age) == static_cast<int>(fb::RuleKind::MaxAge));
static_assert(static_cast<int>(Kind::union_of) == static_cast<int>(fb::RuleKind::Union));
static_assert(static_cast<int>(Kind::intersection_of) ==
              static_cast<int>(fb::RuleKind::Intersection));

Result<RetentionRule> decode_rule(const flatbuffers::Vector<const fb::RuleNode*>* nodes) {
  RetentionRule rule;
  if (nodes == nullptr || nodes->size() == 0) return rule;  // an empty vector need not be aligned
  TRY_VOID(check_aligned(nodes, "rule's nodes"));
  if (nodes->size() > kMaxRuleNodes)
    return fail(Errc::invalid_argument, "the rule has {} nodes; at most {} are allowed",
                nodes->size(), kMaxRuleNodes);
  for (const fb::RuleNode* node : *nodes) {
    if (node->reserved8() != 0 || node->reserved16() != 0)
      return fail(Errc::invalid_argument, "rule node {}: a reserved field is not 0",
                  rule.nodes.size());
    rule.nodes.push_back({static_cast<Kind>(node->kind()), node->child_count(), node->value()});
  }
  TRY_VOID(validate_rule(rule));
  return rule;
}

std::vector<fb::RuleNode> encode_rule(const RetentionRule& rule) {
  std::vector<fb::RuleNode> nodes;
  for (const cellar::RuleNode& node : rule.nodes) {
    nodes.emplace_back(node.value, node.children, static_cast<uint8_t>(node.kind), uint8_t{0},
                       uint16_t{0});
  }
  return nodes;
}

}  // namespace cellar::wire
