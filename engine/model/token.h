// Idempotency tokens as values: the token that a write carries, and the record that is kept under
// it (SEMANTICS 2). What is done with them: engine/write/token_memory.h.
//
// A token's id, as it stands in its key (key.h), is whose it is and the token together:
//   client size: u8, client, token
// The record, the value of that key:
//   version: u8 = 1, flags: u8 (1 matched, 2 the cells were too many to be kept),
//   until: zigzag varint, content: u64 low, u64 high,
//   count: varint, then per cell: family: bytes, qualifier: bytes, timestamp: zigzag varint,
//   value: bytes
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/model/mutation.h"
#include "io/base/bytes.h"
#include "io/base/result.h"

namespace cellar {

inline constexpr size_t kMaxTokenBytes = 64;
inline constexpr size_t kMaxTokenClientBytes = 255;  // its size is a byte
// Families, qualifiers and values of the returned cells that are kept for a repetition.
inline constexpr size_t kMaxTokenCellBytes = 64 * 1024;

// Of what a write asks for (content_hash.h): equal content has equal hashes.
struct ContentHash {
  uint64_t low = 0;
  uint64_t high = 0;
  bool operator==(const ContentHash&) const = default;
};

// What a write says of its token. Views.
struct WriteToken {
  Bytes client;           // owner: principal and client id; empty: not valid
  Bytes token;            // empty: the write has none
  int64_t issued_us = 0;  // by the trusted clock
  ContentHash content;
  bool present() const { return !token.empty(); }
};

// INVALID_ARGUMENT: a token over its size, a client without an identity.
Result<void> validate_token(const WriteToken& token);

std::string token_id(Bytes client, Bytes token);
// False for bytes that are no id.
bool split_token_id(Bytes id, Bytes& client, Bytes& token);

// The first answer to a write.
struct TokenRecord {
  int64_t until_us = 0;  // the last moment at which it counts
  ContentHash content;
  bool matched = false;         // of a CheckAndMutateRow
  bool cells_left_out = false;  // of a ReadModifyWriteRow: more than kMaxTokenCellBytes
  std::vector<Mutation> cells;  // of a ReadModifyWriteRow: sets; views
};
void append_token_record(std::string& out, const TokenRecord& record);
// False for bytes that are none. What comes out views them.
bool parse_token_record(Bytes encoded, TokenRecord& out);
// Of the record only until_us.
bool parse_token_until(Bytes encoded, int64_t& until_us);

}  // namespace cellar
