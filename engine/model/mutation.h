// A row mutation as given by the caller (views only), and in canonical form for log and memtable.
//
// A mutation is one commit, applied in order (SEMANTICS 2). canonicalize() resolves the order
// inside it once, so that later code can treat a commit as a set: every delete in it covers what
// was committed before, no set in it is covered by a delete of the same commit, and no (column,
// timestamp) is set twice. Then "a delete covers cells with a lesser stamp" is the whole rule.
// Example: set q@5=a, delete q, set q@5=b, set q@5=c  ->  delete q, set q@5=c.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/key.h"
#include "engine/model/schema.h"
#include "engine/model/types.h"
#include "io/base/result.h"

namespace cellar {

inline constexpr size_t kMaxMutationsPerRow = 100'000;
inline constexpr int64_t kServerStamped = INT64_MIN;     // SetCell without a timestamp
inline constexpr int64_t kNoTtl = INT64_MIN;             // SetCell without a time to live
inline constexpr int64_t kLastExpiryUs = kNoExpiry - 1;  // later expiries are stored as this one

struct Mutation {
  enum class Kind : uint8_t {
    set_cell = 1,
    delete_from_column = 2,
    delete_from_family = 3,
    delete_from_row = 4
  };

  Kind kind = Kind::set_cell;
  Bytes family;                           // not for delete_from_row
  Bytes qualifier;                        // set_cell, delete_from_column
  Bytes value;                            // set_cell
  int64_t timestamp_us = kServerStamped;  // set_cell
  int64_t expire_at_us = kNoExpiry;       // set_cell; excludes ttl_us
  int64_t ttl_us = kNoTtl;                // set_cell: expires this long after the commit
  int64_t start_us = 0;                   // delete_from_column: [start, end)
  int64_t end_us = kMaxTimestampUs;       // kMaxTimestampUs: unbounded, including that timestamp
};

struct RowMutation {
  Bytes row;
  std::span<const Mutation> mutations;
};

struct MutationLimits {
  size_t cell_bytes = 10u << 20;
  size_t row_bytes = 32u << 20;  // of one row mutation
};

// Checks form first (INVALID_ARGUMENT; also for a server-stamped cell in a family whose timestamps
// are the writer's), then existence (NOT_FOUND for a family); the first invalid operation decides
// (cases/README, "precedence"). Names the operation by index if there are several.
Result<void> validate_mutation(const RowMutation& mutation, const TableSchema& schema,
                               const MutationLimits& limits);

// The canonical form: deletes first, then sets. Server-stamped cells get `now_us` rounded down to
// the granularity; a time to live becomes an expiry. Views into the original. O(n log n). REQUIRES:
// validate_mutation succeeded.
void canonicalize(const RowMutation& mutation, const TableSchema& schema, int64_t now_us,
                  std::vector<Mutation>& out);

// ---- the log's encoding of one commit ----
// clang-format off
//   kind: u8      1 row commit, 2 range delete, 3 row commit with a token, 4 range deletes with a token
//   row commit:   row: bytes, count: varint, then per operation
//                 op: u8 (Mutation::Kind), family: bytes (not for 4), qualifier: bytes (1, 2),
//                 1: timestamp zigzag varint, flags u8 (bit 0: expiry), [expire_at zigzag varint], value: bytes
//                 2: start zigzag varint, end zigzag varint
//   range delete: start: bytes, end: bytes (empty: to the end of the tablet)
//   with a token: as a row commit, possibly without operations, then id: bytes, record: bytes
//   range deletes with a token: count: varint (may be 0), then per range start: bytes, end: bytes;
//                 then id: bytes, record: bytes, in which content is the range requested
// clang-format on
struct RangeDelete {
  Bytes start;  // first row deleted
  Bytes end;    // first row kept; empty: unbounded
};
// A token and its record (model/token.h), encoded.
struct TokenEntry {
  Bytes id;
  Bytes record;
};
void encode_row_commit(std::string& out, Bytes row, std::span<const Mutation> canonical,
                       const TokenEntry* token = nullptr);
void encode_range_delete(std::string& out, const RangeDelete& range);
void encode_range_deletes(std::string& out, std::span<const RangeDelete> ranges,
                          const TokenEntry& token);

// Receives the entries that a commit adds to a memtable. DATA_LOSS if the payload is malformed.
class CommitVisitor {
 public:
  virtual ~CommitVisitor() = default;
  // encoded as in key.h; views are valid during the call
  virtual void entry(Bytes key, Bytes value) = 0;
  virtual void token(Bytes key, Bytes value) { entry(key, value); }
  virtual void range_delete(const RangeDelete& range, CommitStamp stamp) = 0;
  // Called after its range deletes; `token.record` is valid.
  virtual void range_token(const TokenEntry& /*token*/, std::span<const RangeDelete> /*deleted*/,
                           CommitStamp /*stamp*/) {}
};
Result<void> visit_commit(Bytes payload, CommitStamp stamp, CommitVisitor& visitor);

}  // namespace cellar
