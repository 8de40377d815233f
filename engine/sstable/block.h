// Block: one data block in memory, decompressed, as readers want it. Counted by reference: a cache
// holds one, every BlockRef one; counts are not atomic, since a block is one shard's.
//
// CacheEntry: what a cache knows of anything that it holds: blocks, and those that it keeps
// packed (packed_block.h).
#pragma once

#include <cstddef>
#include <cstdint>
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

class CacheEntry : public boost::intrusive::list_base_hook<> {
 public:
  const BlockKey& key() const { return key_; }
  bool is_packed() const { return packed_; }
  // Some cache holds it.
  bool is_cached() const { return is_linked(); }

 protected:
  CacheEntry(BlockKey key, bool packed) : key_(key), packed_(packed) {}
  ~CacheEntry() = default;

 private:
  friend class BlockCache;
  BlockKey key_;
  const bool packed_;
  bool in_main_ = false;
  uint8_t asked_ = 0;  // times since it was looked at, at most BlockCache::kMaxAsked
};

// Made by make_block(); filled by its maker; its contents never change afterwards.
class Block final : public CacheEntry {
 public:
  Bytes contents() const { return {data(), size_}; }
  // Of the contents; none until need_heads().
  const BlockHeads& heads() const { return heads_; }
  size_t size() const { return size_; }

 private:
  friend class BlockRef;
  friend class BlockSlot;
  friend class BlockCache;
  friend class BlockRef make_block(BlockKey key, size_t size, char*& into);
  friend void need_heads(const BlockRef& block);
  Block(BlockKey key, size_t size) : CacheEntry(key, false), size_(size) {}
  char* data() const { return reinterpret_cast<char*>(const_cast<Block*>(this) + 1); }

  // In the room that CacheEntry leaves: what a search wants begins as early as can be.
  bool packs_ = true;  // as far as is known
  uint32_t refs_ = 0;
  size_t size_;
  class BlockSlot* slot_ = nullptr;  // that remembers it
  BlockHeads heads_;
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
// Who is going to search it: makes its heads unless that was tried before, or it is in no cache,
// where nobody will search it again.
void need_heads(const BlockRef& block);

}  // namespace cellar::engine
