// The fatal age of a rule: a cell without its own expiry that is older is dead, regardless of other
// versions (SEMANTICS 4). For max_age it is its age, for max_versions none, for a union the least
// of its parts', for an intersection the greatest if every part has one.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/model/retention_rule.h"

namespace cellar {

// Empty if the rule has none.
std::optional<int64_t> fatal_age_us(const RetentionRule& rule);

}  // namespace cellar
