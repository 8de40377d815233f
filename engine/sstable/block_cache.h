// BlockCache: data blocks of one shard, within a budget of bytes; decompressed, or packed.
//
// Replacement is S3-FIFO: new blocks enter a small queue (a tenth of the budget); one that is asked
// for again there moves to the main queue, one that is not leaves, and only its fingerprint is
// remembered for a while (the ghosts); a block that comes back while remembered goes to the main
// queue at once. So a scan passes through the small queue and pushes nothing out of the main one.
// The main queue gives blocks that were asked for another round.
//
// As long as there is room, blocks are kept as readers want them. Where there is none, a new block
// enters packed (packed_block.h), so that twice as many are found, and each find unpacks a copy for
// its reader. A block that is asked for kMaxAsked times between two looks is kept unpacked from
// then on, and packed again when a look at the main queue's end finds that it was asked for less.
// How many bytes may be unpacked in this way follows from what is met: a find of a much asked for
// block that is packed raises the bound, since it cost an unpacking; a miss of a block that is
// remembered lowers it, by kMissWorth times as much, since packing would have made the room for it.
// Where the blocks in use fit, they are all unpacked soon; where they do not, few are.
//
//   room for 4 blocks, or 8 packed ones:   A B C D           fit: as they are
//   then E, F, G come:                     c d' e f g ...    packed; A and B left
//   E is asked for three times:            E f g ...         unpacked, and counts as two
//
// A block is counted by reference: the cache holds one, every BlockRef one. Eviction and packing
// drop the cache's; a reader that still pins the block keeps its memory until it lets go (which
// does not count against the budget: it is bounded by the number of iterators). One shard.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <deque>
#include <string>

#include "engine/sstable/block.h"
#include "engine/sstable/packed_block.h"

namespace cellar::engine {

// Remembers where a block is as long as it is cached and not packed, so that who asks for the same
// block again need not look it up. Whoever has a place for each block, as a table has, keeps one
// there.
class BlockSlot {
 public:
  BlockSlot() = default;
  ~BlockSlot();
  BlockSlot(const BlockSlot&) = delete;
  BlockSlot& operator=(const BlockSlot&) = delete;

  // What it remembers; does not count as asked for.
  BlockRef peek() const { return block_ == nullptr ? BlockRef() : BlockRef(block_); }

 private:
  friend class BlockCache;
  Block* block_ = nullptr;
};

class BlockCache {
 public:
  static constexpr uint8_t kMaxAsked = 3;
  static constexpr size_t kLineBytes = 64;  // of the processor's cache
  // So many unpackings are as bad as a read from the device.
  static constexpr size_t kMissWorth = 300;
  // In one call, so that it stays below some 50 us; what is left over is evicted.
  static constexpr size_t kMostPacksAtOnce = 16;

  explicit BlockCache(size_t budget_bytes)
      : budget_bytes_(budget_bytes), unpacked_bound_(budget_bytes) {}
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Null when absent. Counts as asked for.
  BlockRef find(const BlockKey& key);
  // The block that the slot remembers; null: it must be looked up.
  BlockRef find(const BlockSlot& slot) {
    if (slot.block_ == nullptr) return {};
    // What a search looks at, all at once: the header, the heads, the first key.
    for (size_t at = 0; at < sizeof(Block) + kLineBytes; at += kLineBytes)
      __builtin_prefetch(reinterpret_cast<const char*>(slot.block_) + at);
    return found(*slot.block_);
  }
  // As find(key). `slot` is of that key, always.
  BlockRef find(const BlockKey& key, BlockSlot& slot);
  bool contains(const BlockKey& key) const { return entries_.contains(key); }
  // Evicts others until the budget holds. `stored` is what the block was unpacked from, if that is
  // at hand: where there is no room it is kept in the block's place. When the key is there already,
  // what is cached stays.
  void insert(const BlockRef& block, const CheckedBlock* stored = nullptr);
  // Its blocks leave: nobody will ask for one again.
  void forget(BlobId blob);
  // Memory of the shard's open tables (index, filter) comes out of the same budget; blocks keep at
  // least an eighth of it.
  void charge(size_t bytes);
  void release(size_t bytes);
  void set_budget(size_t bytes);

  struct Stats {
    uint64_t hits = 0;
    uint64_t packed_hits = 0;  // of them, those that had to be unpacked
    uint64_t misses = 0;
    uint64_t inserted = 0;
    uint64_t evicted = 0;
    uint64_t unpacked = 0;  // kept unpacked from then on
    uint64_t packed = 0;    // again
    uint64_t spoilt = 0;    // packed ones that did not unpack, and were forgotten
  };
  const Stats& stats() const { return stats_; }
  size_t blocks() const { return entries_.size(); }  // packed ones included
  size_t bytes() const { return small_.bytes + main_.bytes; }
  size_t packed_bytes() const { return bytes() - unpacked_bytes_; }
  size_t charged_bytes() const { return charged_bytes_; }
  size_t budget_bytes() const { return budget_bytes_; }

 private:
  using List = boost::intrusive::list<CacheEntry>;
  struct Queue {
    List list;  // newest first
    size_t bytes = 0;
  };

  BlockRef found(Block& block) {
    ++stats_.hits;
    if (block.asked_ < kMaxAsked) ++block.asked_;
    return BlockRef(&block);
  }
  BlockRef found_packed(PackedBlock& packed);
  static size_t footprint(size_t contents_bytes) { return sizeof(Block) + contents_bytes; }
  static size_t footprint(const CacheEntry& entry);
  Queue& queue_of(const CacheEntry& entry) { return entry.in_main_ ? main_ : small_; }
  size_t room() const;
  void enter(CacheEntry& entry, List::iterator before);
  void enter(CacheEntry& entry) { enter(entry, queue_of(entry).list.begin()); }
  void leave(CacheEntry& entry);
  bool may_unpack(const PackedBlock& packed);
  void keep_unpacked(PackedBlock& packed, Block& block);
  bool pack(Block& block);
  void shrink();
  void shrink_small();
  void shrink_main(size_t& packs);
  void drop(CacheEntry& entry);
  void let_go(CacheEntry& entry);
  void missed_remembered(size_t bytes);
  void remember(const BlockKey& key);
  bool recall(const BlockKey& key);

  size_t budget_bytes_;
  size_t charged_bytes_ = 0;
  absl::flat_hash_map<BlockKey, CacheEntry*> entries_;
  absl::flat_hash_map<BlobId, absl::flat_hash_set<uint64_t>> offsets_;  // of all entries
  Queue small_;
  Queue main_;
  size_t unpacked_bytes_ = 0;  // of both queues
  size_t unpacked_bound_;      // where there is no room; what is asked for often stays above it
  std::string scratch_;
  absl::flat_hash_set<uint64_t> ghosts_;  // fingerprints; as many as the main queue has blocks
  std::deque<uint64_t> ghost_order_;
  Stats stats_;
};

}  // namespace cellar::engine
