// CacheLoan: which shard lends memory of its block cache to another, by what the memory earns
// there.
//
// What a cache earns is told by the blocks that come back soon after they have left it: with more
// memory they would have stayed. A shard whose cache is full and that has many of them borrows from
// one that does not use its memory or, if all use theirs, from one that has far fewer. A shard
// keeps what its memtables have lately held, and the least part of its cache.
//
//   shard 0: full, 900 blocks came back; shard 1: 300 MiB unused      1 lends a step to 0
//   shard 0: full, 900 blocks came back; shard 1: full, 20 came back  1 lends a step to 0
//   shard 0: full, 900 blocks came back; shard 1: full, 500           nothing moves
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace cellar::engine {

// A shard at a look.
struct CacheOffer {
  size_t lendable_bytes = 0;  // at most this can be lent
  size_t unused_bytes = 0;    // the part of it that is free
  uint64_t came_back = 0;     // blocks since the last look
  bool full = false;          // the cache uses what it may
};

struct CacheLoan {
  uint32_t from = 0;  // indexes of the offers
  uint32_t to = 0;
  size_t bytes = 0;
};

// Blocks that have to come back in a look before memory is worth moving.
inline constexpr uint64_t kLeastEarned = 64;
// Memory that is in use moves only where it earns this many times as much.
inline constexpr uint64_t kTimesEarned = 4;

// `step_bytes`: what is lent at a time. A shard lends what it does not use only if it keeps another
// step of it, so that loans do not swing.
std::optional<CacheLoan> pick_loan(std::span<const CacheOffer> offers, size_t step_bytes);

}  // namespace cellar::engine
