// BlockCache: data blocks of one shard within a byte budget, decompressed or packed.
//
// Replacement is S3-FIFO: new blocks enter a small queue (a tenth of the budget); a block requested
// again there moves to the main queue, others leave and only their fingerprints are remembered for
// a while (ghosts); a block that returns while remembered enters the main queue directly. A scan
// thus passes through the small queue without evicting the main one. The main queue gives requested
// blocks another round.
//
// While there is room, blocks are stored unpacked. Otherwise a new block enters packed
// (block.h), which doubles the number of blocks, and each hit unpacks a copy for its reader.
// A block requested kMaxAsked times between two looks is stored unpacked, and packed again if a
// look at the main queue's end finds fewer requests. The limit of unpacked bytes adapts: a hit on a
// frequently requested packed block raises it, because it cost an unpacking; a miss on a remembered
// block lowers it, by kMissWorth times as much, because packing would have kept the block. If the
// blocks in use fit, they are soon all unpacked; otherwise few are.
//
//   room for 4 blocks, or 8 packed ones:   A B C D           fit: unpacked
//   then E, F, G come:                     c d' e f g ...    packed; A and B left
//   E is requested three times:            E f g ...         unpacked, counts as two
//
// Eviction works in bounded steps, because the budget follows the work of the shard and may be
// lowered on the way of a write (shard/memory_budget.h). A call evicts about kStepBytes and looks
// at kMostLooks entries; what is left is a debt, which the next calls and pay() reduce. Invariants,
// between any two calls:
//
//   1. bytes() <= room() + the bound of the debt. A call that would exceed it evicts more than a
//      step: at most as many bytes as it has added or taken from the room.
//   2. room() >= a kLeastBlockShare-th of the nominal budget, if the budget is not less than that.
//
// The blocks of a table that is closed are forgotten. There may be a hundred thousand, so they too
// leave in steps; until then they count, and they are the first blocks to leave when room is
// wanted.
//
// Entries are copied to memory of the cache's own (slab_memory.h), whose gaps count too: while it
// exceeds the room, gaps are closed, and where there are too few, blocks leave. So the memory that
// the cache takes is within the room, and what lowers the room gets whole pages back. A room of
// less than kLeastHeldBytes may be exceeded up to that.
//
// Blocks are reference counted: the cache holds one reference, every BlockRef one. Eviction and
// packing drop the cache's. A block that a reader still pins stays in memory and does not count
// against the budget, nor does its slab: the number of iterators bounds such blocks. One shard.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <algorithm>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>

#include "engine/sstable/block.h"
#include "engine/sstable/slab_memory.h"

namespace cellar::engine {

// Remembers the location of a block while it is cached unpacked, so that a repeated request needs
// no lookup. A table, for example, has one slot per block.
class BlockSlot {
 public:
  BlockSlot() = default;
  ~BlockSlot();
  BlockSlot(const BlockSlot&) = delete;
  BlockSlot& operator=(const BlockSlot&) = delete;

  // The remembered block; does not count as a request.
  BlockRef peek() const { return block_ == nullptr ? BlockRef() : BlockRef(block_); }

 private:
  friend class BlockCache;
  Block* block_ = nullptr;
};

class BlockCache {
 public:
  static constexpr uint8_t kMaxAsked = 3;
  static constexpr size_t kLineBytes = 64;  // cache line of the CPU
  // A device read costs as much as this many unpackings.
  static constexpr size_t kMissWorth = 300;
  // Per call, so that a call takes less than some 50 us; the rest is evicted.
  static constexpr size_t kMostPacksAtOnce = 16;

  // Per call, so that a call takes less than some 100 us.
  static constexpr size_t kStepBytes = 512 * 1024;
  static constexpr size_t kMostLooks = 512;
  // Charges leave blocks at least one in this many bytes of the budget.
  static constexpr size_t kLeastBlockShare = 8;
  // Of a payment.
  static constexpr size_t kPayBytes = 64 * 1024;
  static constexpr size_t kPayForgotten = 32;  // blocks
  static constexpr size_t kLeastHeldBytes = 1 << 20;

  explicit BlockCache(size_t nominal_bytes)
      : nominal_bytes_(nominal_bytes),
        budget_bytes_(nominal_bytes),
        unpacked_bound_(nominal_bytes) {}
  ~BlockCache();
  BlockCache(const BlockCache&) = delete;
  BlockCache& operator=(const BlockCache&) = delete;

  // Null if absent. Counts as a request.
  BlockRef find(const BlockKey& key);
  // The block in the slot; null: a lookup is needed.
  BlockRef find(const BlockSlot& slot) { return expect(slot) ? found(*slot.block_) : BlockRef(); }
  // Loads what a search reads of the block in the slot into the processor's cache: the header, the
  // heads, the first key. False: there is none.
  static bool expect(const BlockSlot& slot) {
    if (slot.block_ == nullptr) return false;
    for (size_t at = 0; at < sizeof(Block) + kLineBytes; at += kLineBytes)
      __builtin_prefetch(reinterpret_cast<const char*>(slot.block_) + at);
    return true;
  }
  // As find(key). `slot` must always be used with that key.
  BlockRef find(const BlockKey& key, BlockSlot& slot);
  bool contains(const BlockKey& key) const { return entries_.contains(key); }
  // Inserts a copy of the block and evicts others to meet the budget. `stored` is the packed form
  // of the block, if available: it is kept instead if there is no room. If the key is already
  // cached, the cached entry stays. Returns the copy, or `block` if that is not cached unpacked.
  BlockRef insert(const BlockRef& block, const CheckedBlock* stored = nullptr);
  // Removes the blob's blocks, which should not be requested again: at once or, once forget_later()
  // was called, by pay() and by later calls that want room. `slots` are kept until the blocks have
  // left, since to destroy those of many blocks takes as long. Slots that the caller keeps may be
  // destroyed at any time.
  void forget(BlobId blob, std::unique_ptr<BlockSlot[]> slots = nullptr);
  // From now on forget() calls `wake`, whose owner then pays as long as the cache owes(). Null: not
  // any more.
  void forget_later(std::function<void()> wake) { wake_ = std::move(wake); }
  // Memory of the shard's open tables (index, filter) is charged to the same budget; blocks keep at
  // least an eighth of it.
  void charge(size_t bytes);
  void release(size_t bytes);
  // May be changed at any time. Without a debt bound (0) everything above it is evicted at once.
  void set_budget(size_t bytes);
  void set_debt_bound(size_t bytes) { debt_bound_ = bytes; }
  // Evicts some of the debt, or blocks that are to be forgotten, which takes some 20 us; for the
  // last of a table with a hundred thousand blocks some 100 us.
  void pay();
  // Whether pay() has something to do.
  bool owes() const { return !forgotten_.empty() || debt_bytes() > 0; }

  struct Stats {
    uint64_t hits = 0;
    uint64_t packed_hits = 0;  // of these, hits that were unpacked
    uint64_t misses = 0;
    uint64_t inserted = 0;
    uint64_t evicted = 0;
    uint64_t came_back = 0;  // of those inserted: had left not long ago
    uint64_t unpacked = 0;   // stored unpacked from then on
    uint64_t packed = 0;     // packed again
    uint64_t spoilt = 0;     // packed blocks that failed to unpack and were dropped
  };
  const Stats& stats() const { return stats_; }
  size_t blocks() const { return entries_.size(); }  // including packed ones
  size_t bytes() const { return small_.bytes + main_.bytes; }
  size_t packed_bytes() const { return bytes() - unpacked_bytes_; }
  // Memory for them, with what slots round up and gaps; without the slabs of pinned blocks that
  // were evicted.
  size_t held_bytes() const { return slabs_->held_bytes() - slabs_->left_bytes() + large_bytes_; }
  size_t charged_bytes() const { return charged_bytes_; }
  size_t budget_bytes() const { return budget_bytes_; }
  // The first budget. What is written to disk may depend on this one only, since the budget of the
  // moment comes and goes.
  size_t nominal_bytes() const { return nominal_bytes_; }
  // For blocks, with a budget of `budget_bytes`.
  size_t room(size_t budget_bytes) const;
  size_t debt_bytes() const;
  size_t debt_bound() const { return debt_bound_; }

 private:
  using List = boost::intrusive::list<CacheEntry>;
  using Offsets = absl::flat_hash_set<uint64_t>;
  // A blob whose blocks are leaving.
  struct Forgotten {
    BlobId blob;
    Offsets offsets;  // where it had blocks
    Offsets::const_iterator next;
    std::unique_ptr<BlockSlot[]> slots;  // until the blocks have left
  };
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
  size_t room() const { return room(budget_bytes_); }
  void enter(CacheEntry& entry, List::iterator before);
  void enter(CacheEntry& entry) { enter(entry, queue_of(entry).list.begin()); }
  void leave(CacheEntry& entry);
  bool may_unpack(const PackedBlock& packed);
  BlockRef keep_unpacked(PackedBlock& packed, const Block& block);
  bool pack(Block& block);
  SlabSlot allocate(size_t bytes);
  void free(const SlabSlot& slot, size_t bytes);
  static Block& make_copy(const SlabSlot& slot, const Block& block);
  static PackedBlock& make_packed(const SlabSlot& slot, const BlockKey& key,
                                  const CheckedBlock& stored);
  Block& copy_of(const Block& block);
  PackedBlock& packed_of(const BlockKey& key, const CheckedBlock& stored);
  bool move(CacheEntry& entry, const SlabSlot& to);
  void replace(CacheEntry& entry, CacheEntry& by);
  bool is_full() const;
  void shrink(size_t step_bytes = kStepBytes, size_t wanted_bytes = 0);
  size_t growth(size_t bytes) const;
  CacheEntry* look(size_t& packs, bool hurry);
  CacheEntry* look_at_small(bool hurry);
  CacheEntry* look_at_main(size_t& packs, bool hurry);
  void evict(CacheEntry& entry);
  void drop(CacheEntry& entry);
  void drop_forgotten(size_t blocks);
  void release_entry(CacheEntry& entry);
  void missed_remembered(size_t bytes);
  void remember(const BlockKey& key);
  bool recall(const BlockKey& key);

  const size_t nominal_bytes_;
  size_t budget_bytes_;
  size_t debt_bound_ = 0;
  size_t charged_bytes_ = 0;
  absl::flat_hash_map<BlockKey, CacheEntry*> entries_;
  absl::flat_hash_map<BlobId, Offsets> offsets_;  // of all entries that are not in forgotten_
  std::deque<Forgotten> forgotten_;
  std::function<void()> wake_;  // null: what is forgotten leaves at once
  SlabMemoryPtr slabs_{new SlabMemory()};
  size_t large_bytes_ = 0;  // of entries without a slot
  Queue small_;
  Queue main_;
  size_t unpacked_bytes_ = 0;  // of both queues
  size_t unpacked_bound_;      // if there is no room; frequently requested blocks stay unpacked
  std::string scratch_;
  std::string inserted_;  // as scratch_, for the block that enters while others are packed
  absl::flat_hash_set<uint64_t> ghosts_;  // fingerprints; as many as the main queue has blocks
  std::deque<uint64_t> ghost_order_;
  Stats stats_;
};

}  // namespace cellar::engine
