// Large allocations are mapped directly from the operating system and returned to it when freed. An
// allocator may keep freed megabytes for a while, and they would count against the node's memory
// budget.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>

namespace cellar {

inline constexpr size_t kLargeMemoryBytes = 1u << 20;
// Sanitizers track the allocator, so under them all memory comes from it.
#ifdef CELLAR_SANITIZED
inline constexpr bool kLargeMemoryFromSystem = false;
#else
inline constexpr bool kLargeMemoryFromSystem = true;
#endif

// Allocates `size` bytes aligned to `alignment`, a power of two up to 4 KiB; an alignment above
// malloc's must divide `size`. Returns null if memory is exhausted. Free with the same size.
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

// The deleter of an object made by allocate_large(), for std::unique_ptr.
struct FreeLarge {
  size_t size = 0;
  void operator()(void* at) const { free_large(at, size); }
};

}  // namespace cellar
