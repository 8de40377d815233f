// Converts retention rules between the wire and the model.
#pragma once

#include <vector>

#include "engine/model/retention_rule.h"
#include "io/base/result.h"
#include "net/wire/body.h"

namespace cellar::wire {

// Null or empty means "keep everything". INVALID_ARGUMENT: see validate_rule.
Result<RetentionRule> decode_rule(const flatbuffers::Vector<const fb::RuleNode*>* nodes);

// In pre-order, see RuleNode.
std::vector<fb::RuleNode> encode_rule(const RetentionRule& rule);

}  // namespace cellar::wire
