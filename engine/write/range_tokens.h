// RangeTokens: the DropRowRange tokens that one tablet remembers; RangeTokenRoom: their memory on a
// shard.
//
// A DropRowRange with a token is first committed in the table's first tablet, even if the range has
// no rows there, and then, once that is durable, in all other tablets with rows of the range. Each
// commit carries the token, and records which rows it deleted there (manifest/range_token.h).
// Invariants:
//
//   1. A row is deleted exactly where its token records it: both are one commit, one entry of the
//      log. Up to the tablet's last flush the tokens are in its manifest entry, which splits,
//      merges and moves pass on; later ones are in the log.
//   2. No row is deleted twice under one token while it counts. A repetition commits what is left
//      of its rows, perhaps nothing, and its token once more: so its answer waits for the first
//      attempt's commit, whose rows count from the moment at which they are in the log's queue. Of
//      two concurrent attempts, the first to reach a tablet deletes there.
//   3. The same token with another range is refused by the first tablet, before anything of it is
//      deleted anywhere.
//   4. A token counts as long as a row's does (token_memory.h, 4), at tablet time.
//   5. Memory is bounded by kMaxRangeTokenBytes per shard: above it new tokens are
//      RESOURCE_EXHAUSTED until some have ended. Tokens of a tablet that is opened or moved to the
//      shard are accepted above the bound.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "engine/manifest/states.h"
#include "engine/model/mutation.h"
#include "engine/model/token.h"
#include "engine/model/types.h"
#include "io/base/result.h"

namespace cellar::engine {

inline constexpr size_t kMaxRangeTokenBytes = 1u << 20;

class RangeTokens;

// Owned by one shard; must outlive the RangeTokens of its tablets.
class RangeTokenRoom {
 public:
  // Forgets ended tokens when there is no room for `bytes` more. RESOURCE_EXHAUSTED, with a retry
  // hint.
  Result<void> make_room(size_t bytes, int64_t now_us);
  size_t bytes() const { return bytes_; }
  size_t tokens() const { return tokens_; }

 private:
  friend class RangeTokens;
  absl::flat_hash_set<RangeTokens*> tablets_;
  size_t bytes_ = 0;
  size_t tokens_ = 0;
};

class RangeTokens {
 public:
  // `flushed`: the tokens of the tablet's manifest entry.
  RangeTokens(RangeTokenRoom& room, const std::vector<RangeToken>& flushed);
  ~RangeTokens();
  RangeTokens(const RangeTokens&) = delete;
  RangeTokens& operator=(const RangeTokens&) = delete;

  // The part of the tablet's `rows` that a write with this token has to delete; empty `rows`: the
  // tablet has no row of the range. INVALID_ARGUMENT: malformed, issued too far ahead, known for
  // another range. FAILED_PRECONDITION, maybe applied: issued too long ago. RESOURCE_EXHAUSTED.
  Result<std::vector<KeyRange>> rows_to_delete(const WriteToken& token, KeyRange rows,
                                               const TokenWindow& window, int64_t now_us);
  // The token was committed in the tablet for the same range.
  bool knows(const WriteToken& token) const;
  // Records a commit, also during replay. REQUIRES: stamps ascend.
  void note(const TokenEntry& token, std::span<const RangeDelete> deleted, CommitStamp stamp);
  // The unexpired tokens of commits up to `last`, for the manifest.
  std::vector<RangeToken> up_to(CommitStamp last, int64_t now_us) const;
  void forget_ended(int64_t now_us);
  int64_t first_end_us() const;  // INT64_MAX: no tokens

 private:
  struct Rows {
    KeyRange range;
    CommitStamp stamp;  // 0: in the manifest
  };
  struct Known {
    int64_t until_us = 0;
    ContentHash content;
    CommitStamp since;  // stamp of the first commit; 0: in the manifest
    std::vector<Rows> rows;
  };
  using ById = std::map<std::string, Known, std::less<>>;

  static RangeToken token_of(const std::string& id, const Known& known, CommitStamp last);
  static size_t bytes_of(const std::string& id, const Known& known);
  ById::iterator erase(ById::iterator place);

  RangeTokenRoom& room_;
  ById known_;
};

}  // namespace cellar::engine
