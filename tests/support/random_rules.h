// Random retention rules: any shape, with ages and version counts small enough to matter.
#pragma once

#include <vector>

#include "engine/model/retention_rule.h"
#include "io/base/random.h"

namespace cellar::support {

// Ages are `age_unit_us` times 1 to 20.
inline RetentionRule random_rule(Random& random, int64_t age_unit_us, int depth = 0) {
  const uint64_t dice = random.below(depth >= 3 ? 6 : 10);
  if (dice < 3) return RetentionRule::max_versions(1 + static_cast<int64_t>(random.below(4)));
  if (dice < 6)
    return RetentionRule::max_age_us(age_unit_us * (1 + static_cast<int64_t>(random.below(20))));
  std::vector<RetentionRule> parts;
  for (uint64_t n = 1 + random.below(3); n > 0; --n)
    parts.push_back(random_rule(random, age_unit_us, depth + 1));
  return dice < 8 ? RetentionRule::union_of(parts) : RetentionRule::intersection_of(parts);
}

}  // namespace cellar::support
