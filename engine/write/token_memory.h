// Idempotency tokens: how a repeated write is recognised (SEMANTICS 2), and TokenMemory, the set of
// tokens in memory.
//
// The record of a write with a token is an entry of its row (key.h, EntryKind::token), committed by
// the same commit that applies the write: it is in the log when the write is, and follows the row
// through flushes, merges, restarts, splits, merges of tablets and moves without a mechanism of its
// own. Its value is the answer (model/token.h). Invariants:
//
//   1. The write is applied if and only if its token is there: both are one commit.
//   2. Only its end removes a token: no delete covers it (CellJudge), no merge drops it earlier
//      (DropPolicy::keeps_token), no table that holds an unexpired one is removed (dead_table.h).
//   3. No reader returns it: not a scan, a filter, a condition, a preview or an export.
//   4. A token counts up to and including issued + window, by the trusted clock. A write with an
//      older token is refused without a lookup, because the token may have been forgotten. A client
//      that gives the token another time of issue does not change the first one's. A window that is
//      raised applies to tokens issued after that.
//   5. One write at a time decides about the row (conditional.h). A repetition during the first
//      attempt's read from disk waits for it (row_lock_table.h); otherwise it finds the entry in
//      the memtable, and its answer waits until that commit is visible.
//   6. A refused write commits nothing, so its token is not remembered. A write that is applied but
//      has nothing to change (a condition whose list is empty) commits only its token.
//
// The record is an entry of its own kind, not a cell of a hidden family: deletes and retention
// cannot affect it, it sorts after everything else of its row, so that a scan that meets the first
// token continues with the next row, and it does not affect the time bounds used by reads and
// collectors.
//
// TokenMemory belongs to a shard. It says which tokens *may* exist, by a hash of tablet, row and
// id, so that a write with a new token reads nothing. A token that it does not hold does not exist,
// except in tables that were on disk when the tablet was opened; until the last token of those has
// ended (Tablet::may_remember), tables that hold tokens are read. A token that it holds is looked
// up (token_lookup.h), so a false positive costs a read and never changes an answer. Replay of the
// logs fills it.
//
// It has one set of hashes for each span of time in which tokens end; forgetting drops the oldest
// set. Bounded by kTokenBytes per token: when it is full, writes with new tokens are
// RESOURCE_EXHAUSTED until a span has ended; repetitions are still answered.
#pragma once

#include <absl/container/flat_hash_set.h>

#include <cstddef>
#include <cstdint>
#include <map>

#include "engine/manifest/states.h"
#include "engine/model/token.h"
#include "engine/model/types.h"
#include "io/base/result.h"

namespace cellar::engine {

// Memory of one token in EngineOptions::token_bytes, including the slack of the sets.
inline constexpr size_t kTokenBytes = 24;
// How far ahead of the trusted clock a token may have been issued: the client estimates that clock
// from its last answer.
inline constexpr int64_t kTokenAheadUs = 60'000'000;

// INVALID_ARGUMENT: issued too far ahead. FAILED_PRECONDITION, maybe applied: it was issued before
// `now_us - window_us`.
Result<void> check_issue(const WriteToken& token, int64_t now_us, int64_t window_us);

// The window after a start at `now_us` with the setting `configured_us`.
TokenWindow next_window(const TokenWindow& last, int64_t configured_us, int64_t now_us);

// The key of a token in TokenMemory; `prefix` is its key without the stamp.
uint64_t token_hash(TabletId tablet, Bytes prefix);

class TokenMemory {
 public:
  TokenMemory(const TokenWindow& window, size_t limit_bytes);

  const TokenWindow& window() const { return window_; }
  // The token exists, and counts until `until_us`.
  void note(uint64_t hash, int64_t until_us);
  bool may_hold(uint64_t hash) const;
  // Forgets ended tokens. RESOURCE_EXHAUSTED, with a retry hint, when there is no room for one
  // more.
  Result<void> make_room(int64_t now_us);
  size_t tokens() const { return tokens_; }

 private:
  using Hashes = absl::flat_hash_set<uint64_t>;

  const TokenWindow window_;
  const int64_t span_us_;
  const size_t limit_;  // in tokens
  size_t tokens_ = 0;
  std::map<int64_t, Hashes> ending_;  // by until / span_us_
};

}  // namespace cellar::engine
