// A retention rule between the wire and the model.
#pragma once

#include <vector>

#include "engine/model/retention_rule.h"
#include "io/base/result.h"
#include "net/wire/body.h"

namespace cellar::wire {

// Null or empty is "keep everything". INVALID_ARGUMENT as validate_rule says.
Result<RetentionRule> decode_rule(const flatbuffers::Vector<const fb::RuleNode*>* nodes);

// In pre-order, as RuleNode says.
std::vector<fb::RuleNode> encode_rule(const RetentionRule& rule);

}  // namespace cellar::wire
