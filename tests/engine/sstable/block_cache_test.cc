#include "engine/sstable/block_cache.h"

#include <gtest/gtest.h>

#include <vector>

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
    pinned = cache.insert(pinned);
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

// A block that does not compress.
BlockRef noise_of(uint64_t offset, size_t size) {
  char* into = nullptr;
  BlockRef block = make_block({BlobId{1}, offset}, size, into);
  Random random(offset);
  for (size_t i = 0; i < size; ++i) into[i] = static_cast<char>(random.next());
  return block;
}

// Fills it, and mixes blocks of all ages in memory.
void fill_and_mix(BlockCache& cache, Random& random, size_t size) {
  for (size_t i = 0; i < 4 * cache.budget_bytes() / size; ++i) {
    const uint64_t offset = random.below(2 * cache.budget_bytes() / size);
    if (!get(cache, offset)) cache.insert(noise_of(offset, size));
  }
}

// Otherwise the memory could be used for nothing else.
TEST(BlockCache, ALowerBudgetGivesMemoryBack) {
  constexpr size_t kBudget = 32u << 20;
  Random random(1);
  BlockCache cache(kBudget);
  fill_and_mix(cache, random, 4000);
  EXPECT_LE(cache.held_bytes(), kBudget);
  for (size_t budget = kBudget; budget > kBudget / 4; budget -= 256 * 1024) {
    cache.set_budget(budget);
    ASSERT_LE(cache.held_bytes(), budget);
  }
  EXPECT_GT(cache.bytes(), kBudget / 4 * 9 / 10);
}

// Blocks of changing sizes, and a budget that comes and goes.
TEST(BlockCache, GapsBetweenBlocksAreClosed) {
  constexpr size_t kBudget = 16u << 20;
  constexpr size_t kOffsets = 40'000;
  Random random(1);
  BlockCache cache(kBudget);
  for (size_t round = 0; round < 12; ++round) {
    const size_t size = 700 + round % 6 * 900;
    for (size_t i = 0; i < kOffsets; ++i) {
      const uint64_t offset = random.below(kOffsets);
      if (!get(cache, offset)) cache.insert(noise_of(offset, size + random.below(200)));
    }
    if (round % 4 == 3) cache.set_budget(round % 8 == 3 ? kBudget / 2 : kBudget);
    // A large change is finished by the next calls.
    for (uint64_t i = 0; i < 10; ++i) cache.insert(noise_of(kOffsets + 10 * round + i, 1000));
    ASSERT_LE(cache.held_bytes(), cache.budget_bytes()) << round;
    if (round % 8 != 7) ASSERT_GT(cache.bytes(), cache.budget_bytes() * 85 / 100) << round;
  }
}

TEST(BlockCache, ABlockThatMovesIsFoundBySlotAndByKeyAndOneThatIsPinnedStays) {
  constexpr size_t kBlocks = 2000;
  BlockCache cache(16u << 20);
  std::vector<BlockSlot> slots(kBlocks);
  std::vector<BlockRef> pinned;
  for (uint64_t offset = 0; offset < kBlocks; ++offset) {
    const BlockRef block =
        cache.insert(block_of(offset, 4000, static_cast<char>('a' + offset % 26)));
    // The others leave sooner.
    if (offset % 4 == 0) ASSERT_EQ(cache.find(block->key(), slots[offset]).get(), block.get());
    if (offset % 200 == 0) pinned.push_back(block);
  }
  std::vector<const Block*> before;
  for (const BlockSlot& slot : slots) before.push_back(slot.peek().get());
  // Larger blocks displace some, so that the rest moves.
  for (uint64_t offset = kBlocks; offset < 3 * kBlocks; ++offset)
    cache.insert(block_of(offset, 6000 + offset % 2000));
  size_t moved = 0;
  for (uint64_t offset = 0; offset < kBlocks; offset += 4) {
    const BlockRef block = cache.find(slots[offset]);
    ASSERT_EQ(static_cast<bool>(block), cache.contains({BlobId{1}, offset}));
    if (!block) continue;
    ASSERT_EQ(block->contents(), std::string(4000, static_cast<char>('a' + offset % 26)));
    ASSERT_EQ(get(cache, offset).get(), block.get());
    if (block.get() != before[offset]) ++moved;
  }
  EXPECT_GT(moved, 0u);
  for (const BlockRef& block : pinned) {
    const uint64_t offset = block->key().offset;
    EXPECT_EQ(block->contents(), std::string(4000, static_cast<char>('a' + offset % 26)));
    if (block->is_cached()) EXPECT_EQ(block.get(), before[offset]);
  }
}

TEST(BlockCache, ALowerBudgetLeavesADebtThatIsPaidInSteps) {
  constexpr size_t kBudget = 32u << 20;
  constexpr size_t kBlockBytes = 4000;
  Random random(1);
  BlockCache cache(kBudget);
  cache.set_debt_bound(8u << 20);
  fill_and_mix(cache, random, kBlockBytes);
  const size_t most = BlockCache::kStepBytes / kBlockBytes;
  uint64_t evicted = cache.stats().evicted;
  const auto expect_a_step = [&](const char* what) {
    EXPECT_LE(cache.stats().evicted - evicted, most) << what;
    EXPECT_GT(cache.stats().evicted, evicted) << what;
    evicted = cache.stats().evicted;
  };
  cache.set_budget(kBudget - (6u << 20));
  expect_a_step("a lower budget");
  EXPECT_GT(cache.debt_bytes(), 5u << 20);
  cache.charge(1u << 20);
  expect_a_step("a charge");
  cache.insert(noise_of(1'000'000, kBlockBytes));
  expect_a_step("a block");
  cache.pay();
  expect_a_step("a payment");
  cache.set_budget(kBudget / 2);
  EXPECT_LE(cache.debt_bytes(), cache.debt_bound()) << "whatever it costs";
  int payments = 0;
  for (; cache.debt_bytes() > 0; ++payments) cache.pay();
  EXPECT_GT(payments, 50);
  EXPECT_GT(cache.bytes(), (kBudget / 2 - (1u << 20)) * 9 / 10);
}

TEST(BlockCache, ManyBlocksAreForgottenInSteps) {
  constexpr uint64_t kBlocks = 1000;
  const BlobId other{2};
  for (const bool evicts : {false, true}) {
    BlockCache cache(10u << 20);
    int woken = 0;
    cache.forget_later([&] { ++woken; });
    std::unique_ptr<BlockSlot[]> slots(new BlockSlot[kBlocks]);
    for (uint64_t i = 0; i < kBlocks; ++i) {
      cache.insert(block_of(i));
      ASSERT_TRUE(cache.find({BlobId{1}, i}, slots[i]));
    }
    char* into = nullptr;
    BlockRef kept = make_block({other, 7}, 1000, into);
    std::memset(into, 'o', 1000);
    kept = cache.insert(kept);
    const BlockRef pinned = get(cache, 3);
    cache.forget(BlobId{3});
    EXPECT_EQ(woken, 0) << "it has no blocks";
    cache.forget(BlobId{1}, std::move(slots));
    EXPECT_EQ(woken, 1);
    EXPECT_EQ(cache.blocks(), kBlocks + 1) << "not in this call";
    EXPECT_TRUE(cache.owes());
    EXPECT_EQ(cache.debt_bytes(), 0u);
    if (evicts) {  // they leave before all others
      cache.set_budget(400'000);
      EXPECT_LT(cache.blocks(), kBlocks / 2);
      EXPECT_EQ(cache.stats().evicted, 0u);
    }
    while (cache.owes()) {
      const size_t before = cache.blocks();
      cache.pay();
      ASSERT_LE(before - cache.blocks(), BlockCache::kPayForgotten);
    }
    EXPECT_EQ(cache.blocks(), 1u);
    EXPECT_TRUE(cache.contains({other, 7}));
    EXPECT_EQ(pinned->contents(), std::string(1000, 'b'));
    cache.insert(block_of(5));  // a blob is not requested again, but nothing breaks
    EXPECT_TRUE(get(cache, 5));
    cache.forget_later(nullptr);
    cache.forget(BlobId{1});
    EXPECT_EQ(cache.blocks(), 1u);
  }
}

TEST(BlockCache, WhatIsForgottenMayStayUntilTheEnd) {
  BlockCache cache(1u << 20);
  cache.forget_later([] {});
  std::unique_ptr<BlockSlot[]> slots(new BlockSlot[100]);
  for (uint64_t i = 0; i < 100; ++i) {
    cache.insert(block_of(i));
    ASSERT_TRUE(cache.find({BlobId{1}, i}, slots[i]));
  }
  cache.forget(BlobId{1}, std::move(slots));
  cache.pay();
  EXPECT_GT(cache.blocks(), 50u);
}

TEST(BlockCache, WhatIsWrittenToDiskMayDependOnTheNominalBudget) {
  BlockCache cache(100'000);
  cache.set_budget(300'000);
  EXPECT_EQ(cache.nominal_bytes(), 100'000u);
  EXPECT_EQ(cache.budget_bytes(), 300'000u);
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
