#include "engine/sstable/block.h"

#include <lz4.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

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
  block->~Block();
  free_large(block, bytes);
}

void PackedBlock::Free::operator()(PackedBlock* block) const {
  block->~PackedBlock();
  std::free(block);
}

PackedBlock::Ptr PackedBlock::keep(const BlockKey& key, const CheckedBlock& stored) {
  if (stored.type != BlockType::lz4 || stored.raw_bytes > kMostRawBytes) return nullptr;
  void* memory = std::malloc(sizeof(PackedBlock) + stored.payload.size());
  CHECK(memory != nullptr, "no memory for a packed block");
  Ptr block(new (memory) PackedBlock(key, stored));
  char* into = reinterpret_cast<char*>(block.get() + 1);
  std::memcpy(into, stored.payload.data(), stored.payload.size());
  block->stored_.payload = {into, stored.payload.size()};
  return block;
}

PackedBlock::Ptr PackedBlock::pack(const BlockKey& key, Bytes contents, std::string& scratch) {
  if (contents.empty() || contents.size() > kMostRawBytes) return nullptr;
  const size_t most = contents.size() - contents.size() / kMinGainDivisor;
  scratch.resize(std::max(scratch.size(), most));
  const int packed = LZ4_compress_default(
      contents.data(), scratch.data(), static_cast<int>(contents.size()), static_cast<int>(most));
  if (packed <= 0) return nullptr;
  CheckedBlock stored;
  stored.type = BlockType::lz4;
  stored.payload = Bytes(scratch).substr(0, static_cast<size_t>(packed));
  stored.raw_bytes = contents.size();
  return keep(key, stored);
}

BlockRef PackedBlock::unpack() const {
  char* into = nullptr;
  BlockRef block = make_block(key(), stored_.raw_bytes, into);
  if (!unpack_block(stored_, into, key().blob, key().offset)) return {};
  return block;
}

}  // namespace cellar::engine
