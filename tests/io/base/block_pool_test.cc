#include "io/base/block_pool.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <optional>
#include <set>
#include <thread>
#include <vector>

#include "io/base/arena.h"
#include "io/base/random.h"

namespace cellar {
namespace {

constexpr size_t kBlock = BlockPool::kBlockBytes;
constexpr size_t kChunk = HugeChunks::kChunkBytes;
constexpr size_t kChunkBlocks = BlockPool::kChunkBlocks;

// Resident bytes of a range.
size_t resident(const char* at, size_t bytes) {
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  std::vector<unsigned char> pages(bytes / page);
  EXPECT_EQ(::mincore(const_cast<char*>(at), bytes, pages.data()), 0);
  return static_cast<size_t>(std::ranges::count_if(pages, [](auto p) { return (p & 1) != 0; })) *
         page;
}

class BlockPoolTest : public testing::Test {
 protected:
  // Waits until the thread of the chunks has made one.
  char* take() {
    for (int i = 0; i < 10'000; ++i) {
      if (char* const block = pool_->take()) return block;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "no chunk within 10 s";
    return nullptr;
  }
  std::vector<char*> take(size_t count) {
    std::vector<char*> blocks;
    for (size_t i = 0; i < count; ++i) blocks.push_back(take());
    return blocks;
  }
  void give(const std::vector<char*>& blocks) {
    for (char* block : blocks) pool_->give(block);
  }

  HugeChunks chunks_;
  std::optional<BlockPool> pool_{std::in_place, &chunks_};
};

TEST(BlockPool, WithoutChunksItHasNoBlocks) {
  BlockPool pool;
  EXPECT_EQ(pool.take(), nullptr);
  EXPECT_FALSE(pool.has_surplus());
  Arena arena(&pool);
  for (size_t i = 0; i < 10; ++i) std::memset(arena.allocate(kBlock / 4), 1, kBlock / 4);
  for (const Arena::Block& block : arena.release()) EXPECT_FALSE(block.is_pooled());
}

TEST_F(BlockPoolTest, ItsBlocksAreApartAndResident) {
  const std::vector<char*> blocks = take(3 * kChunkBlocks);
  EXPECT_EQ(std::set<char*>(blocks.begin(), blocks.end()).size(), blocks.size());
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(resident(blocks[i], kBlock), kBlock);
    std::memset(blocks[i], static_cast<int>(i), kBlock);
  }
  for (size_t i = 0; i < blocks.size(); ++i) {
    EXPECT_EQ(blocks[i][0], static_cast<char>(i));
    EXPECT_EQ(blocks[i][kBlock - 1], static_cast<char>(i));
  }
  EXPECT_EQ(pool_->used_bytes(), 3 * kChunk);
  EXPECT_EQ(pool_->idle_bytes(), 0u);
  give(blocks);
  EXPECT_EQ(pool_->used_bytes(), 0u);
  EXPECT_EQ(pool_->idle_bytes(), 3 * kChunk);
}

TEST_F(BlockPoolTest, WhatIsGivenBackIsTakenAgainBeforeAnotherChunk) {
  std::vector<char*> blocks = take(2 * kChunkBlocks);
  const std::set<char*> first(blocks.begin(), blocks.end());
  give(blocks);
  blocks = take(2 * kChunkBlocks);
  EXPECT_EQ(std::set<char*>(blocks.begin(), blocks.end()), first);
  give(blocks);
}

// The chunk with the fewest idle blocks is filled first, so that others become free.
TEST_F(BlockPoolTest, FullerChunksAreFilledFirst) {
  const std::vector<char*> blocks = take(2 * kChunkBlocks);
  const std::set<char*> first(blocks.begin(), blocks.begin() + kChunkBlocks);
  for (size_t i = 2; i < blocks.size() - 1; ++i) pool_->give(blocks[i]);
  EXPECT_EQ(pool_->free_bytes(), 0u);
  for (size_t i = 2; i < kChunkBlocks; ++i) EXPECT_TRUE(first.contains(take()));
  pool_->give(blocks.back());
  EXPECT_EQ(pool_->free_bytes(), kChunk);
  give({first.begin(), first.end()});
}

TEST_F(BlockPoolTest, WhatWasInUseLatelyIsNoSurplus) {
  const std::vector<char*> blocks = take(4 * kChunkBlocks);
  give(blocks);
  EXPECT_FALSE(pool_->has_surplus());
  pool_->age();
  EXPECT_FALSE(pool_->has_surplus());  // in use since the last age() but one
  char* const block = take();
  pool_->age();
  ASSERT_TRUE(pool_->has_surplus());
  while (pool_->has_surplus()) pool_->trim();
  EXPECT_EQ(pool_->used_bytes() + pool_->idle_bytes(), kChunk);
  pool_->give(block);
  pool_->age();
  pool_->age();
  while (pool_->has_surplus()) pool_->trim();
  EXPECT_EQ(pool_->idle_bytes(), 0u);
}

TEST_F(BlockPoolTest, OnlyWholeChunksAreReturned) {
  const std::vector<char*> blocks = take(2 * kChunkBlocks);
  for (size_t i = 1; i < blocks.size(); ++i) pool_->give(blocks[i]);
  EXPECT_EQ(pool_->free_bytes(), kChunk);
  pool_->trim();
  EXPECT_EQ(pool_->free_bytes(), 0u);
  EXPECT_EQ(pool_->idle_bytes(), kChunk - kBlock);
  EXPECT_EQ(resident(blocks[0], kChunk), kChunk);
  pool_->give(blocks[0]);
  EXPECT_EQ(pool_->free_bytes(), kChunk);
}

TEST_F(BlockPoolTest, OneThatMayNotGrowUsesWhatItHas) {
  const std::vector<char*> blocks = take(kChunkBlocks);
  pool_->set_may_grow(false);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));  // chunks are ready
  EXPECT_EQ(pool_->take(), nullptr);
  pool_->give(blocks[3]);
  EXPECT_EQ(pool_->take(), blocks[3]);
  give(blocks);
}

TEST_F(BlockPoolTest, AnArenaTakesItsBlocksAndGivesThemBack) {
  const std::vector<char*> first = take(1);  // a chunk is there
  Arena arena(&*pool_);
  Random random(7);
  for (size_t bytes = 0; bytes < kChunk; bytes += 200) std::memset(arena.allocate(200), 7, 200);
  EXPECT_GE(pool_->used_bytes(), kChunk / 2);
  std::vector<Arena::Block> blocks = arena.release();
  EXPECT_TRUE(std::ranges::any_of(blocks, &Arena::Block::is_pooled));
  blocks.clear();
  EXPECT_EQ(pool_->used_bytes(), kBlock);
  give(first);
}

// Random takes, gives and trims against a model.
TEST_F(BlockPoolTest, EveryBlockHasOneUser) {
  Random random(11);
  std::set<char*> used;
  for (int step = 0; step < 3'000; ++step) {
    const size_t what = random.below(10);
    if (what < 5 && used.size() < 40) {
      char* const block = take();
      ASSERT_TRUE(used.insert(block).second);
      block[1] = static_cast<char>(reinterpret_cast<uintptr_t>(block) / kBlock);
    } else if (what < 9 && !used.empty()) {
      const auto one = std::next(used.begin(), static_cast<long>(random.below(used.size())));
      pool_->give(*one);
      used.erase(one);
    } else if (pool_->free_bytes() > 0) {
      const size_t before = pool_->idle_bytes();
      pool_->trim();
      ASSERT_EQ(pool_->idle_bytes(), before - kChunk);
    }
    ASSERT_EQ(pool_->used_bytes(), used.size() * kBlock);
    ASSERT_EQ((pool_->used_bytes() + pool_->idle_bytes()) % kChunk, 0u);
    for (const char* block : used)
      ASSERT_EQ(block[1], static_cast<char>(reinterpret_cast<uintptr_t>(block) / kBlock));
  }
  give({used.begin(), used.end()});
  EXPECT_EQ(pool_->used_bytes(), 0u);
}

TEST_F(BlockPoolTest, ABlockOfAnotherPoolIsRefused) {
  std::vector<char> other(kBlock);
  EXPECT_DEATH(pool_->give(other.data()), "not of the pool");
  char* const block = take();
  pool_->give(block);
  EXPECT_DEATH(pool_->give(block), "twice");
}

TEST(HugeChunks, AreAlignedAndResidentAndNeverWaitedFor) {
  HugeChunks chunks;
  EXPECT_EQ(chunks.take(), nullptr);  // none is made before the first one asks
  HugeChunks::Chunk chunk;
  for (int i = 0; i < 10'000 && chunk == nullptr; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
    chunk = chunks.take();
  }
  ASSERT_NE(chunk, nullptr);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(chunk.get()) % kChunk, 0u);
  EXPECT_EQ(resident(chunk.get(), kChunk), kChunk);
}

// Several shards take from one.
TEST(HugeChunks, AreGivenOutOnce) {
  HugeChunks chunks;
  std::mutex mutex;
  std::vector<HugeChunks::Chunk> taken;
  std::set<char*> addresses;
  std::vector<std::thread> threads;
  threads.reserve(3);
  for (int i = 0; i < 3; ++i) {
    threads.emplace_back([&] {
      for (int got = 0; got < 5;) {
        HugeChunks::Chunk chunk = chunks.take();
        if (chunk == nullptr) {
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          continue;
        }
        ++got;
        const std::lock_guard lock(mutex);
        addresses.insert(chunk.get());
        taken.push_back(std::move(chunk));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(addresses.size(), 15u);
}

}  // namespace
}  // namespace cellar
