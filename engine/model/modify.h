// The inputs of the two conditional writes: the rules of ReadModifyWriteRow, applied in order to
// the newest cells of a row; the two lists of CheckAndMutateRow.
#pragma once

#include <cstdint>
#include <span>

#include "engine/model/mutation.h"
#include "engine/model/schema.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar {

struct ModifyRule {
  enum class Kind : uint8_t { append = 1, increment = 2 };  // on the wire
  Kind kind = Kind::append;
  Bytes family;
  Bytes qualifier;
  Bytes value;     // append: added after the present value
  int64_t by = 0;  // increment: added to 8 bytes, big-endian, two's complement
};

// Checks form first (INVALID_ARGUMENT: the row key, no rules or too many, a qualifier or value over
// its limit, a family whose timestamps are the writer's), then existence (NOT_FOUND for a family).
Result<void> validate_modify(Bytes row, std::span<const ModifyRule> rules,
                             const TableSchema& schema, const MutationLimits& limits);

// CheckAndMutateRow: checks the row key, that at least one list is not empty, and each list that is
// not empty as in validate_mutation; INVALID_ARGUMENT of either precedes NOT_FOUND of either.
Result<void> validate_check(Bytes row, std::span<const Mutation> then_mutations,
                            std::span<const Mutation> else_mutations, const TableSchema& schema,
                            const MutationLimits& limits);

// INVALID_ARGUMENT unless it has 1 to kMaxRowKeyBytes.
Result<void> validate_row_key(Bytes row);

}  // namespace cellar
