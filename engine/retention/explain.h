// The cause of a cell's death, or when a live cell will die if nothing more is written: used by
// `explain` and `include_dead` (SEMANTICS 6).
//
// When: cells are judged as of the end of time with all families counting
// (TableRetention::counted), so that CellJudge knows when each cell dies. Why: the node of the rule
// that was due then.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/model/schema.h"
#include "engine/retention/family_retention.h"
#include "engine/retention/timeline.h"

namespace cellar::engine {

inline constexpr int64_t kEndOfTimeUs = INT64_MAX;

// The state of a cell when its rule was evaluated.
struct RuleQuestion {
  int64_t age_us = 0;
  uint64_t rank = 0;        // number of newer live versions
  bool own_expiry = false;  // replaces every max_age and has not passed
};

// The pre-order index of the smallest part of the rule that kills the cell: a leaf, or an
// intersection of which every part does. Of a union it is the first part that does. Empty if the
// rule keeps the cell.
std::optional<size_t> matching_clause(const RetentionRule& rule, const RuleQuestion& question);

// The rule in force at an instant, for matching_clause().
const RetentionRule& rule_at(const FamilySchema& family, Instant instant);

}  // namespace cellar::engine
