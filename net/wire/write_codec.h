// Decodes write requests from a verified body into views of the model. Nothing is copied: the
// result points into the body.
//
// There are two kinds of errors. A body with inconsistent numbers (an offset past the arena, an
// unknown kind) is malformed: the whole request is INVALID_ARGUMENT. Keys, names and times are
// validated by the engine, row by row.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "engine/model/modify.h"
#include "engine/model/mutation.h"
#include "engine/model/read_spec.h"
#include "io/base/result.h"
#include "net/wire/body.h"

namespace cellar::wire {

// Each becomes a write of its own.
inline constexpr size_t kMaxBatchEntries = 100'000;

struct WriteTarget {
  std::string_view table;           // empty: the header has the id
  std::optional<Durability> level;  // absent: the table's default
};

struct RowWrite {
  Bytes row;
  uint32_t first = 0;  // index of its first mutation in the request
  uint32_t count = 0;
  Bytes token;  // idempotency token; empty: none
  int64_t token_issued_us = 0;
};

// Reusable: clearing keeps the capacity.
struct DecodedWrites {
  WriteTarget target;
  std::vector<RowWrite> rows;
  std::vector<Mutation> mutations;

  RowMutation mutation(size_t row) const {
    return {rows[row].row, {mutations.data() + rows[row].first, rows[row].count}};
  }
};

Result<void> decode(const fb::MutateRowRequest& request, DecodedWrites& out);
// No entries: INVALID_ARGUMENT as well.
Result<void> decode(const fb::MutateRowsRequest& request, DecodedWrites& out);

// A CheckAndMutateRow (without its filter), a ReadModifyWriteRow, or a MutateRow with a token.
struct DecodedConditional {
  WriteTarget target;
  Bytes row;
  Bytes token;  // empty: none
  int64_t token_issued_us = 0;
  std::vector<Mutation> then_mutations;  // also the mutations of a MutateRow
  std::vector<Mutation> else_mutations;
  std::vector<ModifyRule> rules;
};
Result<void> decode(const fb::MutateRowRequest& request, DecodedConditional& out);
Result<void> decode(const fb::CheckAndMutateRowRequest& request, DecodedConditional& out);
Result<void> decode(const fb::ReadModifyWriteRowRequest& request, DecodedConditional& out);

struct DecodedDrop {
  std::string_view table;
  std::string start;  // first row deleted
  std::string end;    // first row kept; empty: to the end
  bool nothing = false;
  Bytes token;  // points into the body; empty: none
  int64_t token_issued_us = 0;
};
// INVALID_ARGUMENT for a prefix together with bounds, for neither, for an empty prefix, or an end
// before the start.
Result<void> decode(const fb::DropRowRangeRequest& request, DecodedDrop& out);

}  // namespace cellar::wire
