// Arena: bump allocator for one memtable. Memory is freed only with the arena. Counts its bytes.
// Single-threaded.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "io/base/bytes.h"

namespace cellar {

class Arena {
 public:
  static constexpr size_t kBlockBytes = 256 * 1024;

  Arena() = default;
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  // Returns uninitialised memory that lives as long as the arena. Large requests get their own
  // block.
  char* allocate(size_t n) {
    if (n > left_) return allocate_slow(n);
    char* p = next_;
    next_ += n;
    left_ -= n;
    return p;
  }
  // `alignment` is a power of two, at most alignof(std::max_align_t).
  char* allocate_aligned(size_t n, size_t alignment = alignof(std::max_align_t));
  Bytes copy(Bytes b) {
    char* p = allocate(b.size());
    std::memcpy(p, b.data(), b.size());
    return {p, b.size()};
  }
  // Bytes taken from the allocator, including unused space.
  size_t bytes() const { return bytes_; }
  struct Block {
    std::unique_ptr<char[]> memory;
    size_t bytes = 0;
  };
  // Releases all blocks, for a caller that frees them one by one. Their contents must no longer be
  // read.
  std::vector<Block> release();

 private:
  char* allocate_slow(size_t n);

  char* next_ = nullptr;
  size_t left_ = 0;
  size_t bytes_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace cellar
