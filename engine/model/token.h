// Idempotency tokens as values: the token of a write, and the record kept under it (SEMANTICS 2).
// engine/write/token_memory.h uses them.
//
// clang-format off
// A token's id in its key (key.h) consists of its owner and the token:
//   client size: u8, client, token
// The record, the value of that key:
//   version: u8 = 1, flags: u8 (1 matched, 2 the cells were too large to be kept),
//   until: zigzag varint, content: u64 low, u64 high,
//   count: varint, then per cell: family: bytes, qualifier: bytes, timestamp: zigzag varint, value: bytes
// clang-format on
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/mutation.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar {

inline constexpr size_t kMaxTokenBytes = 64;
inline constexpr size_t kMaxTokenClientBytes = 255;  // its size is stored in one byte
// Limit of families, qualifiers and values of the returned cells kept for a repetition.
inline constexpr size_t kMaxTokenCellBytes = 64 * 1024;

// Hash of a write's content (content_hash.h): equal content has equal hashes.
struct ContentHash {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const ContentHash&) const = default;
};

// The token of a write. Views.
struct WriteToken {
  Bytes client;           // owner: principal and client id; empty: not valid
  Bytes token;            // empty: no token
  int64_t issued_us = 0;  // trusted time
  ContentHash content;
  bool present() const { return !token.empty(); }
};

// INVALID_ARGUMENT: a token over its size limit, or a client without identity.
Result<void> validate_token(const WriteToken& token);

std::string token_id(Bytes client, Bytes token);
// False if the bytes are not an id.
bool split_token_id(Bytes id, Bytes& client, Bytes& token);

// The first answer to a write.
struct TokenRecord {
  int64_t until_us = 0;  // last time at which it counts
  ContentHash content;
  bool matched = false;         // for CheckAndMutateRow
  bool cells_left_out = false;  // for ReadModifyWriteRow: more than kMaxTokenCellBytes
  std::vector<Mutation> cells;  // for ReadModifyWriteRow: sets; views
};
void append_token_record(std::string& out, const TokenRecord& record);
// False if the bytes are invalid. The result points into them.
bool parse_token_record(Bytes encoded, TokenRecord& out);
// Parses only until_us.
bool parse_token_until(Bytes encoded, int64_t& until_us);

}  // namespace cellar
