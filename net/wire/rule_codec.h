// A retention rule from the wire, checked for form.
#pragma once

#include "io/base/result.h"
#include "net/wire/body.h"

namespace cellar::wire {

inline constexpr size_t kMaxRuleDepth = 16;     // of union and intersection inside one another
inline constexpr int64_t kMinRuleAgeUs = 1000;  // 1 ms

// INVALID_ARGUMENT: a count below 1, an age below 1 ms, an empty union or intersection, a tree that
// is too deep or whose nodes do not fit together. Null or empty is "keep everything".
Result<void> check_rule(const flatbuffers::Vector<const fb::RuleNode*>* nodes);

}  // namespace cellar::wire
