// Data operations other than plain mutations: requests and results.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "io/base/result.h"
#include "net/client/api/filter.h"
#include "net/client/api/mutation.h"

namespace cellar::client {

struct MutateReply {
  bool repeated = false;         // the token was known; this repeats the first answer
  bool answer_not_kept = false;  // for repeated: only the status is still known
  uint64_t commit_stamp_ns = 0;  // 0: not known (repeated)
  int64_t timestamp_us = 0;      // of the cells without a timestamp of their own
};

// One result per entry, in the order of the entries.
using EntryResults = std::vector<Result<void>>;

// Notes returned with each cell of a read.
struct ReadNotes {
  bool include_dead = false;  // also returns dead cells not yet removed; implies Cell::explained
  bool explain = false;       // Cell::explained
  bool with_expiry = false;   // Cell::expire_at_us
};

struct ReadRow {
  std::string row;
  std::optional<Filter> filter;
  ReadNotes notes = {};
};

struct RowRange {
  std::optional<std::string> start, end;  // absent: unbounded
  bool start_open = false;
  bool end_closed = false;
};

// The union of keys and ranges; without both: every row.
struct ReadRows {
  std::vector<std::string> keys;
  std::vector<RowRange> ranges;
  std::optional<Filter> filter;
  uint64_t row_limit = 0;  // 0: none
  bool reversed = false;
  ReadNotes notes = {};
  uint32_t credits = 8;  // chunks of about 64 KiB buffered in this client, at least 1
  // false: rows are returned when complete, so a row larger than a chunk is collected in this
  // client. true: parts are returned as they arrive; a part that is not `continued` starts its row
  // again, and earlier parts of that row are void.
  bool provisional_rows = false;

  static ReadRows prefix(Bytes p);
  // Reduces the request to the rows after `last`, the `rows`-th complete row of this read. False:
  // nothing is left.
  bool resume_after(Bytes last, uint64_t rows);
};

// A read through an index. Each hit is a row of the answer: the indexed cell, then its covered
// ones. A row has as many hits as cells that are found. All conditions hold together.
struct ReadIndex {
  std::string index;
  std::optional<std::string> value;  // equal; not with `values`
  std::optional<RowRange> values;
  std::optional<std::string> qualifier;  // equal; not with `qualifiers`
  std::optional<RowRange> qualifiers;
  std::optional<int64_t> start_us, end_us;  // of the timestamp: [start, end)
  // Rows: the union of keys and ranges; without both: every row.
  std::vector<std::string> keys;
  std::vector<RowRange> ranges;
  // true: the whole row, each once, where its first hit stands.
  bool whole_rows = false;
  std::optional<Filter> filter;  // of whole rows
  std::optional<int64_t> limit;  // of hits, or of whole rows; absent: none
  bool reversed = false;
  // Cells that are in the index and hidden from it are returned too. All have Cell::explained.
  bool explain = false;
  // Begins behind this place: CellBlock::position() of an earlier read with the same conditions.
  std::string after;
  uint32_t credits = 8;           // as in ReadRows
  bool provisional_rows = false;  // as in ReadRows

  // Reduces the request to what follows `position`, behind `hits` complete hits. False: nothing is
  // left.
  bool resume_after(std::string position, uint64_t hits);
};

// A prefix, or bounds, each of which may be absent.
struct DropRows {
  std::optional<std::string> prefix, start, end;  // [start, end)
  std::optional<Token> token;
};

struct DropReply {
  uint32_t tablets = 0;          // in which the delete was committed
  uint64_t commit_stamp_ns = 0;  // of the latest; 0: nothing was committed, or not known
};

struct CheckAndMutate {
  std::string row;
  std::optional<Filter> filter;     // absent: tests whether the row exists
  Mutation then_mutation{Bytes()};  // its own row is ignored
  Mutation else_mutation{Bytes()};
  std::optional<Token> token;
};
struct CheckAndMutateReply {
  bool matched = false;
  bool repeated = false;
  bool answer_not_kept = false;
  uint64_t commit_stamp_ns = 0;  // 0: nothing was committed, or not known (repeated)
  int64_t timestamp_us = 0;      // of the cells without a timestamp of their own
};

struct ModifyRule {
  std::string family, qualifier;
  std::optional<std::string> append;  // absent: increment
  int64_t increment_by = 0;
};
struct ReadModifyWrite {
  std::string row;
  std::vector<ModifyRule> rules;
  std::optional<Token> token;
};

}  // namespace cellar::client
