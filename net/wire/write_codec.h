// Write requests, from the verified body to the model's views. Nothing is copied: what comes out
// views the body.
//
// Two kinds of wrong are told apart. A body whose numbers do not fit together (an offset past the
// arena, a kind that does not exist) is malformed: the whole request is INVALID_ARGUMENT. Whether
// the keys, names and times in it are acceptable is for the engine to judge, row by row.
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

struct WriteTarget {
  std::string_view table;           // empty: named by id in the header
  std::optional<Durability> level;  // absent: the table's
};

struct RowWrite {
  Bytes row;
  uint32_t first = 0;  // of its mutations in the request's
  uint32_t count = 0;
  Bytes token;  // idempotency token; empty: none
  int64_t token_issued_us = 0;
};

// Reused over requests: clearing keeps the capacity.
struct DecodedWrites {
  WriteTarget target;
  std::vector<RowWrite> rows;
  std::vector<Mutation> mutations;

  RowMutation mutation(size_t row) const {
    return {rows[row].row, {mutations.data() + rows[row].first, rows[row].count}};
  }
};

Result<void> decode(const fb::MutateRowRequest& request, DecodedWrites& out);
// INVALID_ARGUMENT too for no entries.
Result<void> decode(const fb::MutateRowsRequest& request, DecodedWrites& out);

// CheckAndMutateRow, but for its filter, ReadModifyWriteRow, or a MutateRow that has a token.
struct DecodedConditional {
  WriteTarget target;
  Bytes row;
  Bytes token;  // empty: none
  int64_t token_issued_us = 0;
  std::vector<Mutation> then_mutations;  // those of a MutateRow
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
  Bytes token;  // views the body; empty: none
  int64_t token_issued_us = 0;
};
// INVALID_ARGUMENT for a prefix beside bounds, neither, an empty prefix, an end before the start.
Result<void> decode(const fb::DropRowRangeRequest& request, DecodedDrop& out);

}  // namespace cellar::wire
