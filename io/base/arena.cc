#include "io/base/arena.h"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <cstdint>
#include <utility>

#include "io/base/check.h"

namespace cellar {
namespace {

// Blocks double in size from this value up to kBlockBytes, so that an arena with few entries stays
// small.
constexpr size_t kFirstBlockBytes = 2048;
constexpr size_t kPageBytes = 4096;

// Has the system map the whole pages of a block at once: a fault for each costs several times as
// much, and most on a virtual machine. Changes nothing on a system that cannot.
void map_pages(char* block, size_t bytes) {
  const size_t before = -reinterpret_cast<uintptr_t>(block) % kPageBytes;
  const size_t whole = (bytes - before) / kPageBytes * kPageBytes;
  (void)madvise(block + before, whole, MADV_POPULATE_WRITE);  // Linux 5.14
}

}  // namespace

char* Arena::allocate_aligned(size_t n, size_t alignment) {
  DCHECK(std::has_single_bit(alignment));
  const size_t slop = (alignment - reinterpret_cast<uintptr_t>(next_) % alignment) % alignment;
  if (n + slop > left_) return allocate_slow(n);  // aligned: starts a new block
  return allocate(n + slop) + slop;
}

void Arena::Free::operator()(char* memory) const {
  if (pool != nullptr) {
    pool->give(memory);
  } else {
    delete[] memory;
  }
}

Arena::Block Arena::make_block(size_t bytes) {
  if (bytes == kBlockBytes && pool_ != nullptr) {
    if (char* const block = pool_->take()) return {{block, Free{pool_}}, bytes};
  }
  Block block{{new char[bytes], Free{}}, bytes};
  if (bytes == kBlockBytes) map_pages(block.memory.get(), bytes);
  return block;
}

char* Arena::allocate_slow(size_t n) {
  // A large request gets its own block; the current block stays in use.
  const size_t block = std::clamp(bytes_, kFirstBlockBytes, kBlockBytes);
  const bool alone = n > block / 4;
  const size_t size = alone ? n : block;
  blocks_.push_back(make_block(size));
  bytes_ += size;
  char* p = blocks_.back().memory.get();
  if (!alone) {
    next_ = p + n;
    left_ = size - n;
  }
  return p;
}

std::vector<Arena::Block> Arena::release() {
  next_ = nullptr;
  left_ = bytes_ = 0;
  return std::exchange(blocks_, {});
}

}  // namespace cellar
