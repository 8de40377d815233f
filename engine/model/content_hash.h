// The hash of a write's content, which distinguishes a repetition from another write with the same
// token. It covers the decoded content, so it does not depend on the client's encoding or on
// whether the row came alone or in a batch. Row and durability are not included: the row is part of
// the token's scope.
//
// On disk, in records that live for a token's window: the hashed parts and their order may change
// only together with the kind's number.
#pragma once

#include <span>

#include "engine/model/filter_spec.h"
#include "engine/model/modify.h"
#include "engine/model/mutation.h"
#include "engine/model/token.h"

namespace cellar {

ContentHash hash_of_mutations(std::span<const Mutation> mutations);
ContentHash hash_of_check(const FilterSpec& filter, std::span<const Mutation> then_mutations,
                          std::span<const Mutation> else_mutations);
ContentHash hash_of_modify(std::span<const ModifyRule> rules);
// For a DropRowRange: of the requested range, before it is cut to tablets.
ContentHash hash_of_range(const RangeDelete& range);

}  // namespace cellar
