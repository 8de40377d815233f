// Memory for what is large: pages straight from the operating system, which has them back the
// moment they are freed. An allocator keeps freed runs of megabytes for a while, and that while
// counts against the node's memory budget.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>

namespace cellar {

inline constexpr size_t kLargeMemoryBytes = 1u << 20;
// Under sanitizers everything comes from the allocator, which they watch.
#ifdef CELLAR_SANITIZED
inline constexpr bool kLargeMemoryFromSystem = false;
#else
inline constexpr bool kLargeMemoryFromSystem = true;
#endif

// `size` bytes at a multiple of `alignment`, a power of two up to 4 KiB that divides `size` where
// it is more than that of malloc. Null when there is no memory. To be freed with the same size.
inline void* allocate_large(size_t size, size_t alignment) {
  if (kLargeMemoryFromSystem && size >= kLargeMemoryBytes) {
    void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
  }
  return alignment <= alignof(std::max_align_t) ? std::malloc(size)
                                                : std::aligned_alloc(alignment, size);
}

inline void free_large(void* at, size_t size) {
  if (at == nullptr) return;
  if (kLargeMemoryFromSystem && size >= kLargeMemoryBytes) {
    munmap(at, size);
  } else {
    std::free(at);
  }
}

}  // namespace cellar
