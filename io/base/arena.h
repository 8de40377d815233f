// Arena: bump allocator for one memtable. Memory is freed only with the arena. Counts its bytes.
// Full-sized blocks come from a pool if it has one. Single-threaded.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "io/base/block_pool.h"
#include "io/base/bytes.h"

namespace cellar {

class Arena {
 public:
  static constexpr size_t kBlockBytes = BlockPool::kBlockBytes;

  // `pool`: outlives the arena and its blocks; null: all memory comes from the heap.
  explicit Arena(BlockPool* pool = nullptr) : pool_(pool) {}
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
  // Bytes taken from the pool and the heap, including unused space.
  size_t bytes() const { return bytes_; }
  struct Free {
    BlockPool* pool = nullptr;  // null: the heap
    void operator()(char* memory) const;
  };
  struct Block {
    std::unique_ptr<char[], Free> memory;
    size_t bytes = 0;
    // Goes back to the pool, in no time; one of the heap may be returned to the system.
    bool is_pooled() const { return memory.get_deleter().pool != nullptr; }
  };
  // Releases all blocks, for a caller that frees them one by one. Their contents must no longer be
  // read.
  std::vector<Block> release();

 private:
  char* allocate_slow(size_t n);
  Block make_block(size_t bytes);

  BlockPool* pool_;
  char* next_ = nullptr;
  size_t left_ = 0;
  size_t bytes_ = 0;
  std::vector<Block> blocks_;
};

}  // namespace cellar
