// The hash of what a write asks for, by which a repetition is told from another write under the
// same token. Taken of the decoded content, so that it does not depend on how a client lays out a
// request, nor on whether the row came alone or in a batch. Row and durability are no part of it:
// the row is part of what a token is scoped to.
//
// On disk, in records that live for a token's window: what is hashed, and in which order, may
// change only together with the kind's number.
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
// Of a DropRowRange: as it was asked for, cut to no tablet.
ContentHash hash_of_range(const RangeDelete& range);

}  // namespace cellar
