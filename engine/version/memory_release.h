// MemoryRelease: unused blocks of memory, freed in small steps: returning tens of megabytes to the
// system at once takes milliseconds. Blocks of a pool go back to it. Owned by one shard.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

#include "io/base/arena.h"
#include "io/loop/event.h"

namespace cellar::engine {

class MemoryRelease {
 public:
  using Blocks = std::vector<Arena::Block>;
  // Up to this number are freed at once; a block has at most 256 KiB, or is one large cell.
  static constexpr size_t kFewBlocks = 8;

  void take(Blocks blocks) {
    const auto pooled = [](const Arena::Block& block) { return block.is_pooled(); };
    if (std::erase_if(blocks, pooled) > 0) waiting_.notify_all();
    if (blocks.size() <= kFewBlocks) return;
    for (Arena::Block& block : blocks) {
      bytes_ += block.bytes;
      blocks_.push_back(std::move(block));
    }
    waiting_.notify_all();
  }
  bool empty() const { return blocks_.empty(); }
  size_t blocks() const { return blocks_.size(); }
  size_t bytes() const { return bytes_; }  // not freed yet
  // Frees one block. REQUIRES: not empty().
  void step() {
    bytes_ -= blocks_.back().bytes;
    blocks_.pop_back();
  }
  // Resumes when there are blocks, here or in the pool, or at wake().
  Async<void> wait() { return waiting_.wait(); }
  void wake() { waiting_.notify_all(); }

 private:
  Blocks blocks_;
  size_t bytes_ = 0;
  ConditionVariable waiting_;
};

}  // namespace cellar::engine
