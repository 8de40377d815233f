#include "engine/sstable/block.h"

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

}  // namespace cellar::engine
