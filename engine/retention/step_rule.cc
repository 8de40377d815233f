#include "engine/retention/step_rule.h"

#include <algorithm>

namespace cellar::engine {
namespace {

using Kind = RuleNode::Kind;

// The threshold of the subtree at `next` when every age up to `due_us` is due.
uint64_t threshold(const RetentionRule& rule, size_t& next, int64_t due_us) {
  const RuleNode& node = rule.nodes[next++];
  if (node.kind == Kind::max_versions) return static_cast<uint64_t>(node.value);
  if (node.kind == Kind::max_age) return node.value <= due_us ? 0 : kNoRank;
  const bool any = node.kind == Kind::union_of;
  uint64_t result = any ? kNoRank : 0;
  for (uint32_t i = 0; i < node.children; ++i) {
    const uint64_t part = threshold(rule, next, due_us);
    result = any ? std::min(result, part) : std::max(result, part);
  }
  return result;
}

}  // namespace

StepRule::StepRule(const RetentionRule& rule) {
  if (rule.nodes.empty()) return;
  size_t next = 0;
  young_rank_ = threshold(rule, next, -1);
  std::vector<int64_t> ages;
  for (const RuleNode& node : rule.nodes) {
    if (node.kind == Kind::max_age) ages.push_back(node.value);
  }
  std::sort(ages.begin(), ages.end());
  ages.erase(std::unique(ages.begin(), ages.end()), ages.end());
  uint64_t before = young_rank_;
  for (const int64_t age_us : ages) {
    next = 0;
    const uint64_t rank = threshold(rule, next, age_us);
    if (rank == before) continue;
    steps_.push_back({age_us, rank});
    before = rank;
  }
}

std::optional<int64_t> StepRule::fatal_age_us() const {
  if (steps_.empty() || steps_.back().rank != 0) return std::nullopt;
  return steps_.back().older_than_us;
}

bool StepRule::counts() const {
  const auto finite = [](uint64_t rank) { return rank != 0 && rank != kNoRank; };
  return finite(young_rank_) || std::any_of(steps_.begin(), steps_.end(),
                                            [&](const Step& step) { return finite(step.rank); });
}

bool StepRule::keeps_all_of(const StepRule& other) const {
  if (young_rank_ < other.young_rank_) return false;
  // Both fall in steps, so it is enough to look just behind each of this rule's.
  return std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    const int64_t behind = step.older_than_us == INT64_MAX ? INT64_MAX : step.older_than_us + 1;
    return step.rank >= other.rank_at(behind);
  });
}

}  // namespace cellar::engine
