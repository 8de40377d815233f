// Why a cell is dead, and when one that lives will die if nothing more is written: the words behind
// `explain` and `include_dead` (SEMANTICS 6).
//
// When: the judge is asked as of the end of time, with all families made to count
// (TableRetention::counted), so that FateJudge knows of every cell when it dies. Why: the node of
// the rule that was due then.
#pragma once

#include <cstdint>
#include <optional>

#include "engine/model/schema.h"
#include "engine/retention/family_retention.h"
#include "engine/retention/timeline.h"

namespace cellar::engine {

inline constexpr int64_t kEndOfTimeUs = INT64_MAX;

// What a cell looked like when its rule was asked.
struct RuleQuestion {
  int64_t age_us = 0;
  uint64_t rank = 0;        // living versions that are newer
  bool own_expiry = false;  // which stands for every max_age, and has not passed
};

// The index, in pre-order, of the smallest part of the rule that condemns the cell: a leaf, or an
// intersection of which every part does. Of a union it is the first part that does. Nothing when
// the rule keeps the cell.
std::optional<size_t> condemning_clause(const RetentionRule& rule, const RuleQuestion& question);

// The rule that was in force at an instant: to ask condemning_clause() with.
const RetentionRule& rule_at(const FamilySchema& family, Instant instant);

}  // namespace cellar::engine
