// MemoryRelease: unused blocks of memory, freed in small steps: returning tens of megabytes to the
// system at once takes milliseconds. Owned by one shard.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "io/loop/event.h"

namespace cellar::engine {

class MemoryRelease {
 public:
  using Blocks = std::vector<std::unique_ptr<char[]>>;
  // Up to this number are freed at once; a block has at most 256 KiB, or is one large cell.
  static constexpr size_t kFewBlocks = 8;

  void take(Blocks blocks) {
    if (blocks.size() <= kFewBlocks) return;
    for (auto& block : blocks) blocks_.push_back(std::move(block));
    taken_.notify_all();
  }
  bool empty() const { return blocks_.empty(); }
  size_t blocks() const { return blocks_.size(); }
  // Frees one block. REQUIRES: not empty().
  void step() { blocks_.pop_back(); }
  // Resumes when there are blocks, or at wake().
  Async<void> wait() { return taken_.wait(); }
  void wake() { taken_.notify_all(); }

 private:
  Blocks blocks_;
  ConditionVariable taken_;
};

}  // namespace cellar::engine
