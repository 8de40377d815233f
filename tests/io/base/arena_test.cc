#include "io/base/arena.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "io/base/random.h"

namespace cellar {
namespace {

TEST(Arena, KeepsEverythingThatWasCopiedIntoIt) {
  Arena arena;
  Random random(3);
  std::vector<std::pair<Bytes, std::string>> kept;
  for (int i = 0; i < 2'000; ++i) {
    const size_t size = random.one_in(50) ? random.below(200'000) : random.below(300);
    std::string value(size, static_cast<char>('a' + i % 26));
    kept.emplace_back(arena.copy(value), value);
  }
  for (const auto& [copy, value] : kept) ASSERT_EQ(copy, value);
}

TEST(Arena, ABarelyUsedOneIsSmallAndBlocksGrowToTheirSize) {
  Arena arena;
  EXPECT_EQ(arena.bytes(), 0u);
  arena.allocate(1);
  EXPECT_LE(arena.bytes(), 4096u);
  size_t used = 1;
  size_t largest = 0;
  for (size_t before = arena.bytes(); used < 8 * Arena::kBlockBytes; used += 100) {
    arena.allocate(100);
    EXPECT_LE(arena.bytes(), std::max<size_t>(4096, 3 * used));
    largest = std::max(largest, arena.bytes() - before);
    before = arena.bytes();
  }
  EXPECT_EQ(largest, Arena::kBlockBytes);
}

TEST(Arena, LargeRequestLeavesTheCurrentBlockUsable) {
  Arena arena;
  arena.allocate(10);
  arena.allocate(Arena::kBlockBytes * 3);
  const size_t before = arena.bytes();
  arena.allocate(1'000);
  EXPECT_EQ(arena.bytes(), before);
}

TEST(Arena, AlignedMemoryIsAlignedWhereverTheBumpStands) {
  Arena arena;
  for (size_t odd = 1; odd < 40; ++odd) {
    arena.allocate(odd);
    for (const size_t alignment : {size_t{2}, size_t{8}, size_t{16}}) {
      const char* p = arena.allocate_aligned(24, alignment);
      EXPECT_EQ(reinterpret_cast<uintptr_t>(p) % alignment, 0u);
    }
  }
}

}  // namespace
}  // namespace cellar
