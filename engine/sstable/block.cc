#include "engine/sstable/block.h"

#include <lz4.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "engine/sstable/slab_memory.h"
#include "io/base/check.h"
#include "io/base/large_memory.h"

namespace cellar::engine {

BlockRef make_block(BlockKey key, size_t size, char*& into) {
  void* memory = allocate_large(sizeof(Block) + size, alignof(Block));
  CHECK(memory != nullptr, "no memory for a block");
  auto* block = new (memory) Block(key, size);
  into = block->data();
  return BlockRef(block);
}

void need_heads(const BlockRef& block) {
  if (block->is_cached() && !block->heads().made)
    block.get()->heads_ = make_block_heads(block->contents());
}

void BlockRef::reset() {
  Block* block = std::exchange(block_, nullptr);
  if (block == nullptr || --block->refs_ > 0) return;
  const size_t bytes = sizeof(Block) + block->size();
  Slab* slab = block->slab_;
  block->~Block();
  // A cache has a reference to its blocks, so this one has left it.
  if (slab != nullptr) return SlabMemory::free_left({block, slab});
  free_large(block, bytes);
}

PackedBlock::PackedBlock(const BlockKey& key, const CheckedBlock& stored)
    : CacheEntry(key, true), stored_(stored) {
  char* into = reinterpret_cast<char*>(this + 1);
  std::memcpy(into, stored.payload.data(), stored.payload.size());
  stored_.payload = {into, stored.payload.size()};
}

std::optional<CheckedBlock> PackedBlock::pack(Bytes contents, std::string& scratch) {
  if (contents.empty() || contents.size() > kMostRawBytes) return std::nullopt;
  const size_t most = contents.size() - contents.size() / kMinGainDivisor;
  scratch.resize(std::max(scratch.size(), most));
  const int packed = LZ4_compress_default(
      contents.data(), scratch.data(), static_cast<int>(contents.size()), static_cast<int>(most));
  if (packed <= 0) return std::nullopt;
  CheckedBlock stored;
  stored.type = BlockType::lz4;
  stored.payload = Bytes(scratch).substr(0, static_cast<size_t>(packed));
  stored.raw_bytes = contents.size();
  return stored;
}

BlockRef PackedBlock::unpack() const {
  char* into = nullptr;
  BlockRef block = make_block(key(), stored_.raw_bytes, into);
  if (!unpack_block(stored_, into, key().blob, key().offset)) return {};
  return block;
}

}  // namespace cellar::engine
