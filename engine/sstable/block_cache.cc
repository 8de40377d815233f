#include "engine/sstable/block_cache.h"

#include <absl/hash/hash.h>

#include <algorithm>
#include <new>

#include "io/base/check.h"
#include "io/base/large_memory.h"

namespace cellar::engine {
namespace {

constexpr size_t kSmallShare = 10;      // the small queue's part of the budget: one in this
constexpr size_t kLeastBlockShare = 8;  // charges leave blocks at least one in this
constexpr size_t kMinGhosts = 1024;

}  // namespace

BlockRef make_block(BlockKey key, size_t size, char*& into) {
  void* memory = allocate_large(sizeof(Block) + size, alignof(Block));
  CHECK(memory != nullptr, "no memory for a block");
  auto* block = new (memory) Block(key, size);
  into = block->data();
  return BlockRef(block);
}

void need_heads(const BlockRef& block) {
  if (!block->heads().made) block.get()->heads_ = make_block_heads(block->contents());
}

void BlockRef::reset() {
  Block* block = std::exchange(block_, nullptr);
  if (block == nullptr || --block->refs_ > 0) return;
  const size_t bytes = sizeof(Block) + block->size();
  block->~Block();
  free_large(block, bytes);
}

BlockSlot::~BlockSlot() {
  if (block_ != nullptr) block_->slot_ = nullptr;
}

BlockCache::~BlockCache() {
  while (!small_.list.empty()) {
    Block& block = small_.list.back();
    leave(small_, block);
    drop(block);
  }
  while (!main_.list.empty()) {
    Block& block = main_.list.back();
    leave(main_, block);
    drop(block);
  }
}

BlockRef BlockCache::find(const BlockKey& key) {
  const auto it = blocks_.find(key);
  if (it == blocks_.end()) {
    ++stats_.misses;
    return {};
  }
  return found(*it->second);
}

BlockRef BlockCache::find(const BlockKey& key, BlockSlot& slot) {
  if (BlockRef remembered = find(slot)) return remembered;
  BlockRef block = find(key);
  if (block && block.get()->slot_ == nullptr) {
    slot.block_ = block.get();
    block.get()->slot_ = &slot;
  }
  return block;
}

void BlockCache::insert(const BlockRef& ref) {
  Block& block = *ref.get();
  // A block that alone would push out a good part of the cache is not worth it.
  if (footprint(block) > room() / 2 || !blocks_.emplace(block.key(), &block).second) return;
  ++stats_.inserted;
  ++block.refs_;  // the cache's
  block.asked_ = 0;
  block.in_main_ = recall(block.key());
  enter(block.in_main_ ? main_ : small_, block);
  shrink();
}

void BlockCache::charge(size_t bytes) {
  charged_bytes_ += bytes;
  shrink();
}

void BlockCache::release(size_t bytes) {
  CHECK(bytes <= charged_bytes_, "release of {} bytes, {} charged", bytes, charged_bytes_);
  charged_bytes_ -= bytes;
}

void BlockCache::set_budget(size_t bytes) {
  budget_bytes_ = bytes;
  shrink();
}

size_t BlockCache::room() const {
  const size_t least = budget_bytes_ / kLeastBlockShare;
  return charged_bytes_ + least > budget_bytes_ ? least : budget_bytes_ - charged_bytes_;
}

void BlockCache::enter(Queue& queue, Block& block) {
  queue.list.push_front(block);
  queue.bytes += footprint(block);
}

void BlockCache::leave(Queue& queue, Block& block) {
  queue.list.erase(queue.list.iterator_to(block));
  queue.bytes -= footprint(block);
}

void BlockCache::shrink() {
  while (bytes() > room()) {
    if (small_.bytes > room() / kSmallShare || main_.list.empty()) {
      shrink_small();
    } else {
      shrink_main();
    }
  }
}

// The oldest of the small queue moves up or out.
void BlockCache::shrink_small() {
  Block& block = small_.list.back();
  leave(small_, block);
  if (block.asked_ > 0) {
    block.asked_ = 0;
    block.in_main_ = true;
    enter(main_, block);
    return;
  }
  remember(block.key());
  ++stats_.evicted;
  drop(block);
}

// The oldest of the main queue goes round again, or out.
void BlockCache::shrink_main() {
  Block& block = main_.list.back();
  leave(main_, block);
  if (block.asked_ > 0) {
    --block.asked_;
    enter(main_, block);
    return;
  }
  ++stats_.evicted;
  drop(block);
}

// It is in no queue any more.
void BlockCache::drop(Block& block) {
  if (block.slot_ != nullptr) std::exchange(block.slot_, nullptr)->block_ = nullptr;
  blocks_.erase(block.key());
  BlockRef last(&block);
  --block.refs_;  // the cache's; `last` lets go of the block itself if no reader pins it
}

void BlockCache::remember(const BlockKey& key) {
  const uint64_t fingerprint = absl::Hash<BlockKey>()(key);
  if (!ghosts_.insert(fingerprint).second) return;
  ghost_order_.push_back(fingerprint);
  while (ghost_order_.size() > std::max(kMinGhosts, main_.list.size())) {
    ghosts_.erase(ghost_order_.front());
    ghost_order_.pop_front();
  }
}

bool BlockCache::recall(const BlockKey& key) {
  // Its place in the order stays until it is reached; it is then erased a second time in vain.
  return ghosts_.erase(absl::Hash<BlockKey>()(key)) > 0;
}

}  // namespace cellar::engine
