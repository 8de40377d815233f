#include "io/base/block_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <utility>

#include "io/base/check.h"

namespace cellar {
namespace {

uintptr_t address(const char* at) { return reinterpret_cast<uintptr_t>(at); }

}  // namespace

BlockPool::~BlockPool() { DCHECK(used_ == 0, "{} blocks of a pool are in use at its end", used_); }

size_t BlockPool::find(const Chunk& chunk, State state) {
  return static_cast<size_t>(std::ranges::find(chunk.blocks, state) - chunk.blocks.begin());
}

void BlockPool::place(Chunk& chunk) {
  if (chunk.is_linked()) chunk.unlink();
  if (chunk.used == 0) {
    with_idle_.push_back(chunk);
  } else if (chunk.idle > 0) {
    with_idle_.push_front(chunk);
  } else if (chunk.used < kChunkBlocks) {
    with_cold_.push_front(chunk);
  }
}

bool BlockPool::add_chunk() {
  if (chunks_ == nullptr) return false;
  HugeChunks::Chunk memory = chunks_->take();
  if (memory == nullptr) return false;
  const uintptr_t at = address(memory.get());
  Chunk& chunk = *by_address_.emplace(at, std::make_unique<Chunk>()).first->second;
  chunk.memory = std::move(memory);
  idle_ += kChunkBlocks;
  place(chunk);
  return true;
}

char* BlockPool::take() {
  if (with_idle_.empty() && with_cold_.empty() && !add_chunk()) return nullptr;
  const bool idle = !with_idle_.empty();
  Chunk& chunk = idle ? with_idle_.front() : with_cold_.front();
  const size_t at = find(chunk, idle ? State::idle : State::cold);
  char* const block = chunk.memory.get() + at * kBlockBytes;
  if (idle) {
    --chunk.idle;
    --idle_;
  } else {
    (void)::madvise(block, kBlockBytes, MADV_POPULATE_WRITE);
  }
  chunk.blocks[at] = State::used;
  ++chunk.used;
  most_used_ = std::max(most_used_, ++used_);
  place(chunk);
  return block;
}

void BlockPool::give(char* block) {
  const size_t offset = address(block) % HugeChunks::kChunkBytes;
  const auto found = by_address_.find(address(block) - offset);
  CHECK(found != by_address_.end(), "a block that is not of the pool");
  Chunk& chunk = *found->second;
  State& state = chunk.blocks[offset / kBlockBytes];
  CHECK(state == State::used, "a block is given back twice");
  state = State::idle;
  ++chunk.idle;
  ++idle_;
  --chunk.used;
  --used_;
  place(chunk);
  if (chunk.used == 0 && chunk.idle < kChunkBlocks) unmap(chunk);
}

void BlockPool::unmap(Chunk& chunk) {
  idle_ -= chunk.idle;
  by_address_.erase(address(chunk.memory.get()));
}

void BlockPool::age() { most_used_before_ = std::exchange(most_used_, used_); }

void BlockPool::trim() {
  Chunk& chunk = with_idle_.back();
  if (chunk.used == 0) {
    unmap(chunk);
    return;
  }
  const size_t at = find(chunk, State::idle);
  (void)::madvise(chunk.memory.get() + at * kBlockBytes, kBlockBytes, MADV_DONTNEED);
  chunk.blocks[at] = State::cold;
  --chunk.idle;
  --idle_;
  place(chunk);
}

}  // namespace cellar
