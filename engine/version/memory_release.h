// MemoryRelease: blocks of memory that nobody uses any more, to be freed little by little: giving
// tens of megabytes back to the system at once takes milliseconds. One shard.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "io/loop/event.h"

namespace cellar::engine {

class MemoryRelease {
 public:
  using Blocks = std::vector<std::unique_ptr<char[]>>;
  // So few are freed at once; a block is 256 KiB at most, or one large cell.
  static constexpr size_t kFewBlocks = 8;

  void take(Blocks blocks) {
    if (blocks.size() <= kFewBlocks) return;
    for (auto& block : blocks) blocks_.push_back(std::move(block));
    taken_.notify_all();
  }
  bool empty() const { return blocks_.empty(); }
  size_t blocks() const { return blocks_.size(); }
  // Frees one. REQUIRES: not empty().
  void step() { blocks_.pop_back(); }
  // Resumes when there is something, or when told to look.
  Async<void> wait() { return taken_.wait(); }
  void wake() { taken_.notify_all(); }

 private:
  Blocks blocks_;
  ConditionVariable taken_;
};

}  // namespace cellar::engine
