// The data operations beside a plain mutation: what is asked and what comes back.
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
  bool repeated = false;         // the token was known: this is the first answer again
  bool answer_not_kept = false;  // ... of which only the status is still known
};

// One result an entry, in the order of the entries.
using EntryResults = std::vector<Result<void>>;

// What is told beside each cell of a read.
struct ReadNotes {
  bool include_dead = false;  // and cells that are dead and not gone yet; with Cell::explained
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

// The union of keys and ranges; neither: every row.
struct ReadRows {
  std::vector<std::string> keys;
  std::vector<RowRange> ranges;
  std::optional<Filter> filter;
  uint64_t row_limit = 0;  // 0: none
  bool reversed = false;
  ReadNotes notes = {};
  uint32_t credits = 8;  // chunks of about 64 KiB that may wait in this client, at least 1
  // false: rows are handed over once they are complete, so a row larger than a chunk is gathered in
  // this client. true: parts as they come; a part that is not `continued` begins its row anew, and
  // what came of that row before is void.
  bool provisional_rows = false;

  static ReadRows prefix(Bytes p);
  // What is left to read after `last`, which came complete as the `rows`-th of this read: false
  // when that is nothing.
  bool resume_after(Bytes last, uint64_t rows);
};

// A prefix, or bounds of which each may be absent.
struct DropRows {
  std::optional<std::string> prefix, start, end;  // [start, end)
  std::optional<Token> token;
};

struct CheckAndMutate {
  std::string row;
  std::optional<Filter> filter;     // absent: does the row exist?
  Mutation then_mutation{Bytes()};  // its own row is not looked at
  Mutation else_mutation{Bytes()};
  std::optional<Token> token;
};
struct CheckAndMutateReply {
  bool matched = false;
  bool repeated = false;
  bool answer_not_kept = false;
};

struct ModifyRule {
  std::string family, qualifier;
  std::optional<std::string> append;  // else increment
  int64_t increment_by = 0;
};
struct ReadModifyWrite {
  std::string row;
  std::vector<ModifyRule> rules;
  std::optional<Token> token;
};

}  // namespace cellar::client
