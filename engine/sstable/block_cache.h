// BlockCache: decompressed data blocks of one shard, within a budget of bytes.
//
// Replacement is S3-FIFO: new blocks enter a small queue (a tenth of the budget); one that is asked
// for again there moves to the main queue, one that is not leaves, and only its fingerprint is
// remembered for a while (the ghosts); a block that comes back while remembered goes to the main
// queue at once. So a scan passes through the small queue and pushes nothing out of the main one.
// The main queue gives blocks that were asked for another round.
//
// A block is counted by reference: the cache holds one, every BlockRef one. Eviction drops the
// cache's; a reader that still pins the block keeps its memory until it lets go (detached_bytes()
// does not count against the budget: it is bounded by the number of iterators). Counts are not
// atomic: one shard.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/container/flat_hash_set.h>

#include <deque>
#include <utility>

#include <boost/intrusive/list.hpp>

#include "engine/model/types.h"
#include "engine/sstable/block_heads.h"
#include "io/base/bytes.h"

namespace cellar::engine {

struct BlockKey {
  BlobId blob;
  uint64_t offset = 0;
  bool operator==(const BlockKey&) const = default;
  template <class H>
  friend H AbslHashValue(H h, const BlockKey& key) {
    return H::combine(std::move(h), key.blob, key.offset);
  }
};

// One block in memory. Made by make_block(); filled by its maker; its contents never change
// afterwards.
class Block : public boost::intrusive::list_base_hook<> {
 public:
  Bytes contents() const { return {data(), size_}; }
  // Of the contents; none until need_heads().
  const BlockHeads& heads() const { return heads_; }
  size_t size() const { return size_; }
  const BlockKey& key() const { return key_; }

 private:
  friend class BlockRef;
  friend class BlockSlot;
  friend class BlockCache;
  friend class BlockRef make_block(BlockKey key, size_t size, char*& into);
  friend void need_heads(const BlockRef& block);
  Block(BlockKey key, size_t size) : key_(key), size_(size) {}
  char* data() const { return reinterpret_cast<char*>(const_cast<Block*>(this) + 1); }

  BlockKey key_;
  size_t size_;
  class BlockSlot* slot_ = nullptr;  // that remembers it
  uint32_t refs_ = 0;
  uint8_t asked_ = 0;  // times since it was looked at, at most kMaxAsked
  bool in_main_ = false;
  BlockHeads heads_;
};

// Remembers where a block is as long as it is cached, so that who asks for the same block again
// need not look it up. Whoever has a place for each block, as a table has, keeps one there.
class BlockSlot {
 public:
  BlockSlot() = default;
  ~BlockSlot();
  BlockSlot(const BlockSlot&) = delete;
  BlockSlot& operator=(const BlockSlot&) = delete;

 private:
  friend class BlockCache;
  Block* block_ = nullptr;
};

// Pins a block.
class BlockRef {
 public:
  BlockRef() = default;
  explicit BlockRef(Block* block) : block_(block) { ++block_->refs_; }
  BlockRef(const BlockRef& o) : block_(o.block_) {
    if (block_ != nullptr) ++block_->refs_;
  }
  BlockRef(BlockRef&& o) noexcept : block_(std::exchange(o.block_, nullptr)) {}
  BlockRef& operator=(BlockRef o) noexcept {
    std::swap(block_, o.block_);
    return *this;
  }
  ~BlockRef() { reset(); }
  void reset();
  explicit operator bool() const { return block_ != nullptr; }
  const Block* operator->() const { return block_; }
  Block* get() const { return block_; }

 private:
  Block* block_ = nullptr;
};

// A block of `size` bytes, not in any cache; its bytes go to `into`.
BlockRef make_block(BlockKey key, size_t size, char*& into);
// Who is going to search it: makes its heads unless that was tried before.
void need_heads(const BlockRef& block);

class BlockCache {
 public:
  static constexpr uint8_t kMaxAsked = 3;
  static constexpr size_t kLineBytes = 64;  // of the processor's cache

  explicit BlockCache(size_t budget_bytes) : budget_bytes_(budget_bytes) {}
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
  bool contains(const BlockKey& key) const { return blocks_.contains(key); }
  // Takes a reference; evicts others until the budget holds. When the key is there already, the
  // cached block stays.
  void insert(const BlockRef& block);
  // Memory of the shard's open tables (index, filter) comes out of the same budget; blocks keep at
  // least an eighth of it.
  void charge(size_t bytes);
  void release(size_t bytes);
  void set_budget(size_t bytes);

  struct Stats {
    uint64_t hits = 0;
    uint64_t misses = 0;
    uint64_t inserted = 0;
    uint64_t evicted = 0;
  };
  const Stats& stats() const { return stats_; }
  size_t blocks() const { return blocks_.size(); }
  size_t bytes() const { return small_.bytes + main_.bytes; }  // of cached blocks
  size_t charged_bytes() const { return charged_bytes_; }
  size_t budget_bytes() const { return budget_bytes_; }

 private:
  using List = boost::intrusive::list<Block>;
  struct Queue {
    List list;  // newest first
    size_t bytes = 0;
  };

  BlockRef found(Block& block) {
    ++stats_.hits;
    if (block.asked_ < kMaxAsked) ++block.asked_;
    return BlockRef(&block);
  }
  static size_t footprint(const Block& block) { return sizeof(Block) + block.size(); }
  size_t room() const;
  void enter(Queue& queue, Block& block);
  void leave(Queue& queue, Block& block);
  void shrink();
  void shrink_small();
  void shrink_main();
  void drop(Block& block);
  void remember(const BlockKey& key);
  bool recall(const BlockKey& key);

  size_t budget_bytes_;
  size_t charged_bytes_ = 0;
  absl::flat_hash_map<BlockKey, Block*> blocks_;
  Queue small_;
  Queue main_;
  absl::flat_hash_set<uint64_t> ghosts_;  // fingerprints; as many as the main queue has blocks
  std::deque<uint64_t> ghost_order_;
  Stats stats_;
};

}  // namespace cellar::engine
