// Idempotency tokens: how a repeated write is recognised (SEMANTICS 2), and TokenMemory, the part
// of it that lies in memory.
//
// What is remembered of a write with a token is an entry of its row (key.h, EntryKind::token),
// committed by the very commit that applies it: so it is in the log when the write is, and goes
// wherever the row goes, through flushes, merges, restarts, splits, merges of tablets and moves,
// with no mechanism of its own. Its value is the answer (model/token.h). Invariants:
//
//   1. Whoever finds the write applied finds its token, and the other way round: one commit.
//   2. Nothing but its end takes a token away: no delete covers it (CellJudge), no merge leaves it
//      out before (DropPolicy::keeps_token), no table that holds one is dropped (dead_table.h).
//   3. No reader sees it: not a scan, a filter, a condition, a preview or an export.
//   4. A token counts up to and including issued + window, by the trusted clock. What was issued
//      longer ago is refused without looking, for it may have been forgotten. A client that gives
//      the token another moment of issue does not change the first one's. A window that is raised
//      is raised for what is issued from then on.
//   5. The row is settled by one write at a time (conditional.h). A repetition that comes while the
//      first is under way waits behind it where that reads from disk (row_lock_table.h); otherwise
//      it finds the entry in the memtable, and its answer waits until that commit is visible.
//   6. What is refused commits nothing, and so is not remembered. A write that is applied but has
//      nothing to change (a condition whose list is empty) commits its token alone.
//
// An entry of its own kind, not a cell of a hidden family: deletes and retention then have no way
// to reach it, it stands behind everything else of its row, so that a scan that meets the first
// token goes on to the next row, and it does not touch the bounds of time that reads and collectors
// go by.
//
// TokenMemory is a shard's. It says which tokens *may* be there, by a hash of tablet, row and id,
// so that a write with a new token reads nothing: what it does not hold is not there, but for what
// lay in a tablet's tables when the tablet was opened; until the last of those has ended
// (Tablet::may_remember), tables that hold any are asked. What it holds is looked up
// (token_lookup.h), so a false hit costs a read and never an answer. Logs that are replayed fill
// it.
//
// It is a set of hashes for each span of time in which they end, so that forgetting is dropping the
// oldest set. Bounded by kTokenBytes a token: when it is full, writes with new tokens are
// RESOURCE_EXHAUSTED until a span has ended; repetitions are answered still.
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

// What one token takes of EngineOptions::token_bytes, the slack of the sets included.
inline constexpr size_t kTokenBytes = 24;
// How far ahead of the trusted clock a token may have been issued: the client reckons it from the
// last it heard of that clock.
inline constexpr int64_t kTokenAheadUs = 60'000'000;

// INVALID_ARGUMENT: issued too far ahead. FAILED_PRECONDITION, maybe applied: it was issued before
// `now_us - window_us`.
Result<void> check_issue(const WriteToken& token, int64_t now_us, int64_t window_us);

// The window from a start at `now_us` on, which is told `configured_us`.
TokenWindow next_window(const TokenWindow& last, int64_t configured_us, int64_t now_us);

// By which TokenMemory knows a token; `prefix` is its key without the stamp.
uint64_t token_hash(TabletId tablet, Bytes prefix);

class TokenMemory {
 public:
  TokenMemory(const TokenWindow& window, size_t limit_bytes);

  const TokenWindow& window() const { return window_; }
  // It is there, and counts until then.
  void note(uint64_t hash, int64_t until_us);
  bool may_hold(uint64_t hash) const;
  // Forgets what has ended. RESOURCE_EXHAUSTED, with a retry hint, when there is no room for one
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
