// MemoryBudget: the memory of one shard: who holds what, and what the block cache may have of it.
//
// A shard's share is its part of EngineOptions::memory_bytes. Parts of it are set aside:
//
//   clients    requests and answers of the server (net/server/limits/node_memory.h)
//   overhead   the program, what waits for the log's disk, tables being written, and what the
//              allocator loses
//   rows       results of point reads (read/row_cache.h)
//   headroom   debts of the cache, see below
//
// The rest is lent: memtables and tokens take what they need within bounds of their own, and the
// block cache has what they leave. So a shard that only reads uses nearly all for its cache. Writes
// take it back: each time a memtable gets memory (a block of at most 256 KiB, a chunk of 2 MiB for
// its next blocks, or one large cell), the cache gives up as much, in the same call or as a debt.
// Its blocks are clean, so no write waits for a flush.
//
// Invariants, after each change:
//
//   1. Memtables, released blocks (not freed yet, or kept for the next memtables), tokens, blocks
//      of the cache, and what is charged to it (indexes and filters of open tables), take together
//      at most lent_bytes() and the headroom. The exception is the cache's least part: kCacheShare
//      of the share, charges included, of which blocks keep BlockCache::kLeastBlockShare. It never
//      shrinks below that.
//   2. A flushed memtable counts as long as a cursor holds it, and until its memory is freed or
//      another one uses it.
//   3. Memtables and released blocks together take no more than the bound of memtables, unless
//      nothing is left that can be freed: a memtable that grows beyond has released blocks freed.
//   4. What is withheld is taken from the cache too, but not from its least part. The owner of the
//      process withholds what the resident size exceeds the node's memory by: freed memory that the
//      allocator keeps, for example.
//   5. What shards lend each other (shard/cache_loan.h) is taken from lent_bytes() of one and added
//   to that of another: the sum over all shards stays. A shard whose memtables need what it has
//   lent calls it back; until it has it, it may hold more by what it has lent, at most a
//   kLoanShare-th of its share.
//   6. The work of one change is bounded (BlockCache::kStepBytes, and the size of the change). The
//      rest is a debt, at most headroom_bytes(); the loop that frees memory pays it when there is
//      time, and so does each further change. That loop removes the blocks of closed tables too.
//
// Formats of tables depend on BlockCache::nominal_bytes(), never on the budget of the moment.
// Owned by one shard; registers itself as the watcher of the gauge.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

#include "engine/read/row_cache.h"
#include "engine/shard/cache_loan.h"
#include "engine/shard_figures.h"
#include "engine/sstable/block_cache.h"
#include "engine/tablet/memtable_budget.h"
#include "engine/write/range_tokens.h"
#include "engine/write/token_memory.h"

namespace cellar::engine {

class MemoryBudget final : private MemtableGaugeWatcher {
 public:
  // Of the share; one in this many.
  static constexpr size_t kMemtableShare = 2;
  static constexpr size_t kCacheShare = 4;
  static constexpr size_t kOverheadShare = 16;
  static constexpr size_t kHeadroomShare = 32;
  // A shard lends at most one in this many.
  static constexpr size_t kLoanShare = 4;
  // Three in so many are for clients.
  static constexpr size_t kClientShare = 16;
  // Of the program, in a node, but at most a kOverheadShare-th of its memory.
  static constexpr size_t kProgramBytes = 16u << 20;

  // All must outlive it. `shards`: in the node.
  MemoryBudget(size_t node_bytes, size_t shards, MemtableBudget& memtables, BlockCache& cache,
               const TokenMemory& tokens, const RangeTokenRoom& range_tokens, const RowCache& rows);
  ~MemoryBudget();
  MemoryBudget(const MemoryBudget&) = delete;
  MemoryBudget& operator=(const MemoryBudget&) = delete;

  size_t share_bytes() const { return share_bytes_; }
  size_t lent_bytes() const { return lent_bytes_ + static_cast<size_t>(granted_bytes_); }
  size_t headroom_bytes() const { return share_bytes_ / kHeadroomShare; }
  // What the cache may have at present, charges included.
  size_t cache_bytes() const;
  // Instead of what was withheld before. Returns what is withheld: at most what the cache's least
  // part leaves.
  size_t withhold(size_t bytes);
  // ---- loans between shards
  // Borrowed from other shards; negative: lent to them.
  int64_t granted_bytes() const { return granted_bytes_; }
  void grant(int64_t change);
  // Since the last call.
  CacheOffer offer();
  // It has lent memory that its memtables need: `ask` is called once, until called_back() says that
  // there is no more to come.
  void on_short(std::function<void()> ask) { ask_back_ = std::move(ask); }
  bool is_short() const;
  void called_back() { asked_back_ = false; }

  MemoryFigures figures() const;
  // The invariants 1, 3 and 4.
  bool holds() const;

 private:
  void memtables_changed() override;
  size_t token_bytes() const;
  // Held by others than the cache.
  size_t other_bytes() const;
  void free_released();

  const size_t share_bytes_;
  const size_t lent_bytes_;
  size_t withheld_bytes_ = 0;
  int64_t granted_bytes_ = 0;
  size_t most_others_ = 0;  // most of other_bytes() lately
  uint64_t came_back_ = 0;  // of the cache, at the last offer()
  bool asked_back_ = false;
  std::function<void()> ask_back_;
  MemtableBudget& memtables_;
  BlockCache& cache_;
  const TokenMemory& tokens_;
  const RangeTokenRoom& range_tokens_;
  const RowCache& rows_;
};

}  // namespace cellar::engine
