#include "engine/sstable/block_cache.h"

#include <gtest/gtest.h>

#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

BlockRef block_of(uint64_t offset, size_t size = 1000, char fill = 'b') {
  char* into = nullptr;
  BlockRef block = make_block({BlobId{1}, offset}, size, into);
  std::memset(into, fill, size);
  return block;
}

BlockRef get(BlockCache& cache, uint64_t offset) { return cache.find({BlobId{1}, offset}); }

TEST(BlockCache, KeepsWithinItsBudgetWhateverComes) {
  for (const uint64_t seed : test_seeds(10)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    BlockCache cache(100'000);
    for (int i = 0; i < 5000; ++i) {
      const uint64_t offset = random.below(400);
      const BlockRef found = get(cache, offset);
      if (found) {
        ASSERT_EQ(found->key().offset, offset);
      } else {
        cache.insert(block_of(offset, 1 + random.below(3000)));
      }
      ASSERT_LE(cache.bytes(), 100'000u);
    }
    EXPECT_GT(cache.blocks(), 10u);
    EXPECT_GT(cache.stats().hits, 0u);
  }
}

TEST(BlockCache, AScanDoesNotPushOutWhatIsAskedForAgainAndAgain) {
  BlockCache cache(200'000);
  for (int round = 0; round < 3; ++round) {
    for (uint64_t hot = 0; hot < 50; ++hot) {
      if (!get(cache, hot)) cache.insert(block_of(hot));
    }
  }
  for (uint64_t cold = 1000; cold < 3000; ++cold) {
    if (!get(cache, cold)) cache.insert(block_of(cold));
  }
  size_t kept = 0;
  for (uint64_t hot = 0; hot < 50; ++hot) kept += get(cache, hot) ? 1 : 0;
  EXPECT_EQ(kept, 50u);
}

TEST(BlockCache, ASlotKnowsItsBlockAsLongAsItIsCached) {
  BlockCache cache(10'000);
  const BlockKey key{BlobId{1}, 1};
  auto slot = std::make_unique<BlockSlot>();
  EXPECT_FALSE(cache.find(key, *slot));
  cache.insert(block_of(1, 1000, 's'));
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cache.find(key, *slot)->contents(), std::string(1000, 's'));
  EXPECT_EQ(cache.stats().hits, 2u);
  cache.set_budget(0);
  EXPECT_FALSE(cache.contains(key));
  EXPECT_FALSE(cache.find(key, *slot));

  cache.set_budget(10'000);
  cache.insert(block_of(1, 1000, 't'));
  const BlockRef pinned = cache.find(key, *slot);
  slot.reset();
  EXPECT_EQ(get(cache, 1).get(), pinned.get());
}

TEST(BlockCache, APinnedBlockOutlivesItsEvictionAndTheCache) {
  BlockRef pinned = block_of(1, 1000, 'p');
  {
    BlockCache cache(10'000);
    cache.insert(pinned);
    for (uint64_t i = 10; i < 100; ++i) cache.insert(block_of(i));
    EXPECT_FALSE(get(cache, 1));
    EXPECT_EQ(pinned->contents(), std::string(1000, 'p'));
  }
  EXPECT_EQ(pinned->contents(), std::string(1000, 'p'));
}

TEST(BlockCache, ABlockThatComesBackSoonIsKeptLonger) {
  BlockCache cache(20'000);
  cache.insert(block_of(1));
  uint64_t next = 100;
  while (cache.contains({BlobId{1}, 1})) cache.insert(block_of(next++));
  cache.insert(block_of(1));  // in the ghost queue: goes to the main queue
  for (int i = 0; i < 200; ++i) cache.insert(block_of(next++));
  EXPECT_TRUE(cache.contains({BlobId{1}, 1}));
}

TEST(BlockCache, ChargesMakeRoomAndLeaveBlocksAnEighth) {
  BlockCache cache(100'000);
  for (uint64_t i = 0; i < 90; ++i) cache.insert(block_of(i));
  EXPECT_GT(cache.bytes(), 80'000u);
  cache.charge(60'000);
  EXPECT_LE(cache.bytes(), 40'000u);
  cache.charge(1'000'000);
  EXPECT_LE(cache.bytes(), 12'500u);
  EXPECT_GT(cache.bytes(), 8'000u);
  cache.release(1'060'000);
  EXPECT_EQ(cache.charged_bytes(), 0u);
}

TEST(BlockCache, TheFirstOfTwoEqualBlocksStays) {
  BlockCache cache(100'000);
  cache.insert(block_of(1, 10, 'a'));
  cache.insert(block_of(1, 10, 'b'));
  EXPECT_EQ(get(cache, 1)->contents(), std::string(10, 'a'));
  EXPECT_EQ(cache.blocks(), 1u);
}

}  // namespace
}  // namespace cellar::engine
