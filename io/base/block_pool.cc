#include "io/base/block_pool.h"

#include <algorithm>
#include <utility>

#include "io/base/check.h"

namespace cellar {
namespace {

uintptr_t address(const char* at) { return reinterpret_cast<uintptr_t>(at); }

}  // namespace

BlockPool::~BlockPool() { DCHECK(used_ == 0, "{} blocks of a pool are in use at its end", used_); }

void BlockPool::set_idle(Chunk& chunk, size_t idle) {
  free_chunks_ -= chunk.is_linked() && chunk.idle == kChunkBlocks;
  free_chunks_ += idle == kChunkBlocks;
  chunk.idle = idle;
  if (chunk.is_linked()) chunk.unlink();
  by_idle_[idle].push_front(chunk);
}

bool BlockPool::add_chunk() {
  if (chunks_ == nullptr || !may_grow_) return false;
  HugeChunks::Chunk memory = chunks_->take();
  if (memory == nullptr) return false;
  const uintptr_t at = address(memory.get());
  Chunk& chunk = *by_address_.emplace(at, std::make_unique<Chunk>()).first->second;
  chunk.memory = std::move(memory);
  idle_ += kChunkBlocks;
  set_idle(chunk, kChunkBlocks);
  return true;
}

char* BlockPool::take() {
  if (idle_ == 0 && !add_chunk()) return nullptr;
  const auto any = [](const List& list) { return !list.empty(); };
  Chunk& chunk = std::find_if(by_idle_.begin() + 1, by_idle_.end(), any)->front();
  const auto block = std::ranges::find(chunk.used, false) - chunk.used.begin();
  chunk.used[static_cast<size_t>(block)] = true;
  set_idle(chunk, chunk.idle - 1);
  --idle_;
  most_used_ = std::max(most_used_, ++used_);
  return chunk.memory.get() + static_cast<size_t>(block) * kBlockBytes;
}

void BlockPool::give(char* block) {
  const size_t offset = address(block) % HugeChunks::kChunkBytes;
  const auto found = by_address_.find(address(block) - offset);
  CHECK(found != by_address_.end(), "a block that is not of the pool");
  Chunk& chunk = *found->second;
  const bool was_used = std::exchange(chunk.used[offset / kBlockBytes], false);
  CHECK(was_used, "a block is given back twice");
  set_idle(chunk, chunk.idle + 1);
  ++idle_;
  --used_;
}

void BlockPool::age() { most_used_before_ = std::exchange(most_used_, used_); }

void BlockPool::trim() {
  const Chunk& chunk = by_idle_[kChunkBlocks].back();
  idle_ -= kChunkBlocks;
  --free_chunks_;
  by_address_.erase(address(chunk.memory.get()));
}

}  // namespace cellar
