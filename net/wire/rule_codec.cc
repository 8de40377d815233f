#include "net/wire/rule_codec.h"

namespace cellar::wire {
namespace {

using Nodes = flatbuffers::Vector<const fb::RuleNode*>;

Result<void> check_node(const Nodes& nodes, uint32_t& next, size_t depth) {
  if (next == nodes.size()) {
    return fail(Errc::invalid_argument, "the rule's tree needs more than its {} nodes",
                nodes.size());
  }
  const uint32_t index = next++;
  const fb::RuleNode& node = *nodes.Get(index);
  switch (static_cast<fb::RuleKind>(node.kind())) {
    case fb::RuleKind::MaxVersions:
      if (node.value() < 1) {
        return fail(Errc::invalid_argument, "rule node {}: max_versions of {} is below 1", index,
                    node.value());
      }
      break;
    case fb::RuleKind::MaxAge:
      if (node.value() < kMinRuleAgeUs) {
        return fail(Errc::invalid_argument, "rule node {}: max_age of {} us is below 1 ms", index,
                    node.value());
      }
      break;
    case fb::RuleKind::Union:
    case fb::RuleKind::Intersection:
      if (node.child_count() == 0) {
        return fail(Errc::invalid_argument, "rule node {}: an empty {}", index,
                    fb::EnumNameRuleKind(static_cast<fb::RuleKind>(node.kind())));
      }
      if (depth == kMaxRuleDepth) {
        return fail(Errc::invalid_argument, "the rule is nested deeper than {}", kMaxRuleDepth);
      }
      for (uint32_t i = 0; i < node.child_count(); ++i) {
        TRY_VOID(check_node(nodes, next, depth + 1));
      }
      return {};
    default:
      return fail(Errc::invalid_argument, "rule node {}: kind {} does not exist", index,
                  node.kind());
  }
  if (node.child_count() != 0) {
    return fail(Errc::invalid_argument, "rule node {} takes no parts, not {}", index,
                node.child_count());
  }
  return {};
}

}  // namespace

Result<void> check_rule(const Nodes* nodes) {
  if (nodes == nullptr || nodes->size() == 0) return {};
  TRY_VOID(check_aligned(nodes, "rule"));
  uint32_t next = 0;
  TRY_VOID(check_node(*nodes, next, 0));
  if (next != nodes->size()) {
    return fail(Errc::invalid_argument, "the rule has {} nodes beside its tree",
                nodes->size() - next);
  }
  return {};
}

}  // namespace cellar::wire
