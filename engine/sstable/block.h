// Block: one decompressed data block in memory, as readers use it. Reference counted: a cache holds
// one reference, every BlockRef one; counts are not atomic, because a block belongs to one shard.
//
// CacheEntry: common part of everything a cache holds: blocks, and packed blocks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <boost/intrusive/list.hpp>

#include "engine/model/types.h"
#include "engine/sstable/block_heads.h"
#include "engine/sstable/format.h"
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

class Slab;

class CacheEntry : public boost::intrusive::list_base_hook<> {
 public:
  const BlockKey& key() const { return key_; }
  bool is_packed() const { return packed_; }
  // Whether a cache holds it.
  bool is_cached() const { return is_linked(); }

 protected:
  CacheEntry(BlockKey key, bool packed) : key_(key), packed_(packed) {}
  ~CacheEntry() = default;

 private:
  friend class BlockCache;
  friend class BlockRef;
  BlockKey key_;
  Slab* slab_ = nullptr;  // its memory is a slot of that (slab_memory.h); null: the allocator's
  const bool packed_;
  bool in_main_ = false;
  uint8_t asked_ = 0;  // requests since the last look, at most BlockCache::kMaxAsked
};

// Made by make_block(), filled by its maker, then immutable.
class Block final : public CacheEntry {
 public:
  Bytes contents() const { return {data(), size_}; }
  // Heads of the contents; none before need_heads().
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

  // Placed in the padding of CacheEntry, so that the part a search reads starts early.
  bool packs_ = true;  // as far as known
  uint32_t refs_ = 0;
  size_t size_;
  class BlockSlot* slot_ = nullptr;  // the slot that refers to it
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

// Makes a block of `size` bytes outside any cache; the caller writes its bytes to `into`.
BlockRef make_block(BlockKey key, size_t size, char*& into);
// Called before a search: makes the heads unless that was tried before or the block is not cached
// and thus not searched again.
void need_heads(const BlockRef& block);

// PackedBlock: a data block kept compressed in the cache: as stored on the device, or compressed
// with LZ4 when its requests became fewer. It takes half the bytes of a Block and half a
// microsecond to unpack.
//
// Its checksum was verified when it was loaded and is not checked again, as for a Block: both trust
// memory. A block that does not unpack to the expected size is never returned.
class PackedBlock final : public CacheEntry {
 public:
  // Unpacking a larger block would block a reader's loop for too long.
  static constexpr size_t kMostRawBytes = 64 * 1024;

  // Whether `stored` may be kept as it is. Not if it is not LZ4 or is too large: Zstandard would
  // take eight times as long per hit and need its table's dictionary.
  static bool keeps(const CheckedBlock& stored) {
    return stored.type == BlockType::lz4 && stored.raw_bytes <= kMostRawBytes;
  }
  // Compresses the contents of a block in some 3 us, to something that may be kept. Empty if that
  // does not pay or they are too large. The result is in `scratch`, reused memory of the caller.
  static std::optional<CheckedBlock> pack(Bytes contents, std::string& scratch);

  // The block is not in a cache; null if the bytes are corrupt.
  BlockRef unpack() const;
  // Of the unpacked contents.
  size_t raw_bytes() const { return stored_.raw_bytes; }
  size_t packed_bytes() const { return stored_.payload.size(); }

 private:
  friend class BlockCache;
  // Copies the payload of `stored`, everything that unpack_block() needs, to behind the object.
  PackedBlock(const BlockKey& key, const CheckedBlock& stored);

  CheckedBlock stored_;
};

}  // namespace cellar::engine
