#include "engine/retention/step_rule.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace cellar::engine {
namespace {

using Kind = RuleNode::Kind;

// The threshold of a subtree, decreasing with age.
struct Falling {
  uint64_t young = kNoRank;
  std::vector<StepRule::Step> steps;
};

// A step of one part of a group.
struct PartStep {
  int64_t older_than_us;
  uint64_t from;
  uint64_t to;
};

// The least (`any`) or the greatest of the parts at every age, swept from young to old.
Falling combine(const std::vector<Falling>& parts, bool any) {
  std::multiset<uint64_t> ranks;
  std::vector<PartStep> moves;
  for (const Falling& part : parts) {
    uint64_t from = part.young;
    ranks.insert(from);
    for (const StepRule::Step& step : part.steps) {
      moves.push_back({step.older_than_us, from, step.rank});
      from = step.rank;
    }
  }
  std::sort(moves.begin(), moves.end(),
            [](const PartStep& a, const PartStep& b) { return a.older_than_us < b.older_than_us; });
  Falling result;
  const auto now = [&ranks, any] { return any ? *ranks.begin() : *ranks.rbegin(); };
  uint64_t before = result.young = now();
  for (size_t i = 0; i < moves.size();) {
    const int64_t age_us = moves[i].older_than_us;
    for (; i < moves.size() && moves[i].older_than_us == age_us; ++i) {
      ranks.erase(ranks.find(moves[i].from));
      ranks.insert(moves[i].to);
    }
    if (now() == before) continue;
    before = now();
    result.steps.push_back({age_us, before});
  }
  return result;
}

Falling compile(const RetentionRule& rule, size_t& next) {
  const RuleNode& node = rule.nodes[next++];
  if (node.kind == Kind::max_versions) return {static_cast<uint64_t>(node.value), {}};
  if (node.kind == Kind::max_age) return {kNoRank, {{node.value, 0}}};
  std::vector<Falling> parts;
  for (uint32_t i = 0; i < node.children; ++i) parts.push_back(compile(rule, next));
  return combine(parts, node.kind == Kind::union_of);
}

}  // namespace

StepRule::StepRule(const RetentionRule& rule) {
  if (rule.nodes.empty()) return;
  size_t next = 0;
  Falling all = compile(rule, next);
  young_rank_ = all.young;
  steps_ = std::move(all.steps);
}

uint64_t StepRule::rank_behind_first(int64_t age_us) const {
  const auto behind =
      std::partition_point(steps_.begin(), steps_.end(),
                           [age_us](const Step& step) { return step.older_than_us < age_us; });
  return std::prev(behind)->rank;
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
  // Both decrease in steps, so it is enough to compare just after each step of this rule.
  return std::all_of(steps_.begin(), steps_.end(), [&](const Step& step) {
    const int64_t behind = step.older_than_us == INT64_MAX ? INT64_MAX : step.older_than_us + 1;
    return step.rank >= other.rank_at(behind);
  });
}

}  // namespace cellar::engine
