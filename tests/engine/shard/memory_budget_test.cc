// The memory of a shard: the block cache has what memtables and tokens leave, and gives it back at
// once, whatever happens in which order.
#include "engine/shard/memory_budget.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <thread>

#include "engine/model/key.h"
#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

constexpr size_t kMiB = 1u << 20;
constexpr size_t kNodeBytes = 64 * kMiB;
constexpr size_t kBlockBytes = 4000;

// What a shard has of it, without a shard.
class Budget : public testing::Test {
 protected:
  explicit Budget(HugeChunks* chunks = nullptr)
      : memtables_{.hard_bytes = kMemtableBytes, .gauge = {.blocks = BlockPool(chunks)}} {}

  void add(TabletMemtable& memtable, size_t bytes) {
    std::string key;
    ++rows_;
    append_cell(key, fmt::format("row{:09}", rows_), "f", "q", 1000, CommitStamp{rows_});
    ASSERT_TRUE(memtable.entries.add(key, std::string(bytes, 'v')));
    memtable.count();
  }
  // Grows a new memtable to at least that many bytes.
  Ref<TabletMemtable> memtable_of(size_t bytes) {
    Ref<TabletMemtable> memtable(new TabletMemtable(memtables_.gauge, kLogBegin));
    while (memtable->counted < bytes) add(*memtable, 1000);
    return memtable;
  }
  static void end(TabletMemtable& memtable) {
    memtable.freeze();
    memtable.end();
  }
  void free_all() {
    while (memtables_.gauge.freeable_bytes() > 0) memtables_.gauge.free_some();
    memtables_.gauge.changed();
  }
  BlockRef insert(uint64_t offset, size_t size = kBlockBytes) {
    char* into = nullptr;
    BlockRef block = make_block({BlobId{1}, offset}, size, into);
    std::memset(into, 'b', size);
    cache_.insert(block);
    return block;
  }
  void fill_cache() {
    for (uint64_t i = 0; i < kNodeBytes / kBlockBytes; ++i) insert(next_block_++);
  }

  static constexpr size_t kMemtableBytes = kNodeBytes / MemoryBudget::kMemtableShare;
  static constexpr size_t kNominalBytes = kNodeBytes / MemoryBudget::kCacheShare;
  MemtableBudget memtables_;
  BlockCache cache_{kNominalBytes};
  TokenMemory tokens_{TokenWindow{.window_us = 1'000'000}, 100'000 * kTokenBytes};
  RangeTokenRoom range_tokens_;
  RowCache results_{kNodeBytes / 32};
  MemoryBudget budget_{kNodeBytes, 1, memtables_, cache_, tokens_, range_tokens_, results_};
  uint64_t rows_ = 0;
  uint64_t next_block_ = 0;
};

TEST_F(Budget, AShardThatOnlyReadsUsesMostOfItForItsCache) {
  EXPECT_GE(budget_.cache_bytes(), kNodeBytes / 100 * 62);
  fill_cache();
  EXPECT_GE(cache_.bytes(), kNodeBytes / 100 * 61);
  EXPECT_EQ(budget_.figures().free_bytes / kBlockBytes, 0u);
}

TEST_F(Budget, WhatAMemtableTakesTheCacheGivesInTheSameCall) {
  fill_cache();
  Ref<TabletMemtable> memtable = memtable_of(1);
  while (memtable->counted < kMemtableBytes) {
    const size_t before = memtable->counted;
    const size_t evicted = cache_.stats().evicted;
    add(*memtable, 1000);
    const MemoryFigures now = budget_.figures();
    ASSERT_LE(cache_.debt_bytes(), Arena::kBlockBytes);
    if (cache_.bytes() > kNominalBytes) {
      ASSERT_LE(now.memtable_bytes + now.cache_bytes, now.lent_bytes + Arena::kBlockBytes);
    }
    if (memtable->counted == before) ASSERT_EQ(cache_.stats().evicted, evicted);
    const size_t most = BlockCache::kStepBytes / kBlockBytes;
    ASSERT_LE(cache_.stats().evicted - evicted, most) << "a step";
  }
  EXPECT_EQ(cache_.budget_bytes(), kNominalBytes) << "the cache keeps its least part";
  EXPECT_GT(cache_.bytes(), kNominalBytes / 10 * 9);
  end(*memtable);
  memtable.reset();
  free_all();
  EXPECT_EQ(cache_.budget_bytes(), budget_.lent_bytes());
}

TEST_F(Budget, WhatIsWithheldTheCacheDoesNotHave) {
  fill_cache();
  const size_t lent = budget_.lent_bytes();
  EXPECT_EQ(budget_.withhold(4 * kMiB), 4 * kMiB);
  EXPECT_EQ(budget_.cache_bytes(), lent - 4 * kMiB);
  EXPECT_LE(cache_.held_bytes(), lent - 4 * kMiB + budget_.headroom_bytes());
  EXPECT_EQ(budget_.figures().withheld_bytes, 4 * kMiB);
  const size_t most = budget_.withhold(kNodeBytes);
  EXPECT_EQ(most, lent - kNominalBytes);
  EXPECT_EQ(budget_.cache_bytes(), kNominalBytes) << "its least part";
  EXPECT_EQ(budget_.withhold(0), 0u);
  EXPECT_EQ(cache_.budget_bytes(), lent);
}

TEST_F(Budget, AFlushedMemtableCountsWhileACursorHoldsItAndUntilItIsFreed) {
  Ref<TabletMemtable> memtable = memtable_of(16 * kMiB);
  const size_t bytes = memtable->counted;
  const size_t lent = budget_.lent_bytes();
  EXPECT_EQ(cache_.budget_bytes(), lent - bytes);
  end(*memtable);
  EXPECT_EQ(budget_.figures().pinned_bytes, bytes);
  EXPECT_EQ(budget_.cache_bytes(), lent - bytes);
  memtable.reset();
  EXPECT_EQ(budget_.figures().pinned_bytes, 0u);
  EXPECT_EQ(budget_.figures().released_bytes, bytes);
  EXPECT_EQ(cache_.budget_bytes(), lent - bytes);
  memtables_.gauge.release.step();
  memtables_.gauge.changed();
  EXPECT_GT(cache_.budget_bytes(), lent - bytes);
  free_all();
  EXPECT_EQ(cache_.budget_bytes(), lent);
}

// A burst right after a flush would otherwise take the memory twice.
TEST_F(Budget, AMemtableThatGrowsBeyondTheBoundHasReleasedMemoryFreed) {
  Ref<TabletMemtable> first = memtable_of(kMemtableBytes - kMiB);
  end(*first);
  first.reset();
  const size_t released = budget_.figures().released_bytes;
  const Ref<TabletMemtable> second = memtable_of(8 * kMiB);
  EXPECT_LE(memtables_.gauge.held_bytes(), kMemtableBytes);
  EXPECT_LT(budget_.figures().released_bytes, released - 6 * kMiB);
}

TEST_F(Budget, ALargeCellLeavesADebtThatIsPaidLater) {
  fill_cache();
  Ref<TabletMemtable> memtable = memtable_of(2 * kMiB);
  const size_t before = cache_.bytes();
  add(*memtable, kMiB * 3 / 2);
  EXPECT_LE(cache_.debt_bytes(), budget_.headroom_bytes());
  EXPECT_GT(cache_.debt_bytes(), kMiB / 2) << "it did not evict everything at once";
  EXPECT_GT(cache_.bytes(), before - 2 * BlockCache::kStepBytes);
  int steps = 0;
  for (; cache_.debt_bytes() > 0; ++steps) cache_.pay();
  EXPECT_GT(steps, 5);
  EXPECT_LT(steps, 40);
  add(*memtable, 10 * kMiB);  // more than the headroom
  EXPECT_LE(cache_.debt_bytes(), budget_.headroom_bytes());
}

TEST_F(Budget, TokensAndMetadataAreTakenFromTheCacheToo) {
  fill_cache();
  for (uint64_t i = 0; i < 100'000; ++i) tokens_.note(i, 1);
  memtables_.gauge.changed();
  EXPECT_EQ(cache_.budget_bytes(), budget_.lent_bytes() - 100'000 * kTokenBytes);
  EXPECT_EQ(budget_.figures().token_bytes, 100'000 * kTokenBytes);
  cache_.charge(10 * kMiB);
  while (cache_.debt_bytes() > 0) cache_.pay();
  EXPECT_TRUE(budget_.holds());
  EXPECT_EQ(budget_.figures().metadata_bytes, 10 * kMiB);
  EXPECT_LE(cache_.bytes(), budget_.lent_bytes() - 100'000 * kTokenBytes - 10 * kMiB);
  cache_.charge(kNodeBytes);
  while (cache_.debt_bytes() > 0) cache_.pay();
  EXPECT_LE(cache_.bytes(), kNominalBytes / BlockCache::kLeastBlockShare);
  EXPECT_GT(cache_.bytes(), kNominalBytes / BlockCache::kLeastBlockShare / 10 * 9);
  cache_.release(kNodeBytes + 10 * kMiB);
}

// Everything that happens to the memory of a shard, in any order; the invariants hold after each.
class Play : public Budget {
 protected:
  explicit Play(HugeChunks* chunks = nullptr) : Budget(chunks) {}

  void check_invariants(size_t seeds);
  void step(Random& random) {
    switch (random.below(10)) {
      case 0:
      case 1:
      case 2:
        return write(random);
      case 3:
      case 4:
      case 5:
        return read(random);
      case 6:
        return flush(random);
      case 7:
        return pin(random);
      case 8:
        return metadata(random);
      default:
        return pay(random);
    }
  }
  void write(Random& random) {
    if (!active_) active_ = memtable_of(1);
    const size_t bytes = random.below(20) == 0 ? random.below(6 * kMiB) : random.below(300'000);
    const bool taken =
        memtables_.gauge.bytes == 0 || memtables_.gauge.bytes + bytes <= memtables_.room();
    if (!taken) return flush(random);
    for (uint64_t i = random.below(100); i > 0; --i) tokens_.note(random.next(), 1);
    add(*active_, bytes);
    memtables_.gauge.changed();  // tokens are counted with the next block of a memtable
    if (active_->counted > 8 * kMiB) freeze();
  }
  void freeze() {
    active_->freeze();
    frozen_.push_back(std::exchange(active_, nullptr));
  }
  void flush(Random& random) {
    if (active_ && random.below(4) == 0) freeze();
    if (frozen_.empty()) return;
    frozen_.front()->end();
    frozen_.pop_front();
  }
  void read(Random& random) {
    for (uint64_t i = random.below(100); i > 0; --i) {
      const uint64_t offset = random.below(20'000);
      if (!cache_.find({BlobId{1}, offset})) insert(offset, 1 + offset * 7919 % 9000);
      ASSERT_LE(cache_.bytes(), cache_.room(cache_.budget_bytes()) + budget_.headroom_bytes());
    }
  }
  void pin(Random& random) {
    auto& pinned = pinned_[random.below(pinned_.size())];
    pinned = frozen_.empty() ? active_ : frozen_.front();
    auto& block = blocks_[random.below(blocks_.size())];
    block = cache_.find({BlobId{1}, random.below(20'000)});
  }
  void metadata(Random& random) {
    if (random.below(2) == 0) {
      const size_t bytes = random.below(4 * kMiB);
      charges_.push_back(bytes);
      cache_.charge(bytes);
    } else if (!charges_.empty()) {
      cache_.release(charges_.front());
      charges_.pop_front();
    }
  }
  void pay(Random& random) {
    for (uint64_t i = random.below(20); i > 0; --i) {
      if (memtables_.gauge.freeable_bytes() > 0) memtables_.gauge.free_some();
      if (cache_.debt_bytes() > 0) cache_.pay();
    }
    memtables_.gauge.changed();
  }

  Ref<TabletMemtable> active_;
  std::deque<Ref<TabletMemtable>> frozen_;
  std::vector<Ref<TabletMemtable>> pinned_{3};
  std::vector<BlockRef> blocks_{8};
  std::deque<size_t> charges_;
};

void Play::check_invariants(size_t seeds) {
  for (const uint64_t seed : test_seeds(seeds)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    Random withheld(seed + 1);
    size_t most_cache = 0;
    size_t most_memtables = 0;
    for (int i = 0; i < 3000; ++i) {
      step(random);
      if (withheld.below(10) == 0)
        budget_.withhold(withheld.below(2) == 0 ? withheld.below(kNodeBytes / 4) : 0);
      const MemoryFigures now = budget_.figures();
      ASSERT_TRUE(budget_.holds()) << i;
      const size_t memtables = now.memtable_bytes + now.pinned_bytes + now.released_bytes;
      ASSERT_TRUE(memtables_.gauge.freeable_bytes() == 0 || memtables <= kMemtableBytes) << i;
      if (now.cache_bytes > kNominalBytes + budget_.headroom_bytes()) {
        ASSERT_LE(
            memtables + now.cache_bytes + now.metadata_bytes + now.token_bytes + now.withheld_bytes,
            now.lent_bytes + budget_.headroom_bytes())
            << i;
      }
      most_cache = std::max<size_t>(most_cache, now.cache_bytes + now.metadata_bytes);
      most_memtables = std::max(most_memtables, memtables);
    }
    EXPECT_GT(most_cache, kNominalBytes * 3 / 2);
    EXPECT_GT(most_memtables, kMemtableBytes / 3 * 2);
  }
}

struct Chunks {
  HugeChunks chunks;
};
class PooledPlay : private Chunks, public Play {
 protected:
  PooledPlay() : Play(&chunks) {}
  // Waits until the pool has a chunk, which a thread makes.
  void fill_pool() {
    BlockPool& blocks = memtables_.gauge.blocks;
    for (int i = 0; i < 10'000 && blocks.idle_bytes() == 0; ++i) {
      if (char* const block = blocks.take()) blocks.give(block);
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    memtables_.gauge.changed();
  }
};

TEST_F(Play, TheInvariantsHoldAfterEachStep) { check_invariants(10); }
TEST_F(PooledPlay, TheInvariantsHoldAfterEachStep) { check_invariants(3); }

TEST_F(PooledPlay, BlocksThatAreKeptForTheNextMemtableCountOnceAndAreUsedByIt) {
  fill_pool();
  const size_t lent = budget_.lent_bytes();
  const size_t idle = memtables_.gauge.blocks.idle_bytes();
  EXPECT_EQ(idle, HugeChunks::kChunkBytes);
  EXPECT_EQ(budget_.figures().released_bytes, idle);
  EXPECT_EQ(cache_.budget_bytes(), lent - idle);
  Ref<TabletMemtable> memtable = memtable_of(kMiB + kMiB / 2);
  EXPECT_GE(memtables_.gauge.blocks.used_bytes(), kMiB);
  EXPECT_EQ(cache_.budget_bytes(), lent - memtables_.gauge.held_bytes());
  const size_t from_heap = memtable->counted - memtables_.gauge.blocks.used_bytes();
  EXPECT_EQ(memtables_.gauge.held_bytes(), idle + from_heap);
  end(*memtable);
  memtable = nullptr;
  free_all();
  EXPECT_EQ(memtables_.gauge.held_bytes(), 0u);
  EXPECT_EQ(cache_.budget_bytes(), lent);
}

// What is kept gives way to memory that has to come from the heap.
TEST_F(PooledPlay, AMemtableThatGrowsBeyondTheBoundHasKeptChunksFreed) {
  fill_pool();
  Ref<TabletMemtable> memtable = memtable_of(1);
  add(*memtable, kMemtableBytes - kMiB);  // a block of its own
  EXPECT_LE(memtables_.gauge.held_bytes(), kMemtableBytes);
  EXPECT_EQ(memtables_.gauge.blocks.idle_bytes(), 0u);
  while (memtable->counted < kMemtableBytes) add(*memtable, 1000);
  EXPECT_EQ(memtables_.gauge.blocks.used_bytes(), 0u) << "a chunk would exceed the bound";
}

TEST_F(PooledPlay, WhatIsKeptGoesBeforeTheCacheHasMemoryWithheld) {
  fill_pool();
  EXPECT_EQ(budget_.withhold(kMiB), 0u);
  EXPECT_EQ(memtables_.gauge.blocks.idle_bytes(), 0u);
  EXPECT_EQ(budget_.withhold(kMiB), kMiB);
}

TEST_F(Budget, WhatIsLentIsTakenFromTheCacheAndWhatIsBorrowedGivenToIt) {
  const size_t all = budget_.cache_bytes();
  const auto step = static_cast<int64_t>(kNodeBytes / 16);
  budget_.grant(-step);
  EXPECT_EQ(budget_.cache_bytes(), all - static_cast<size_t>(step));
  budget_.grant(2 * step);
  EXPECT_EQ(budget_.cache_bytes(), all + static_cast<size_t>(step));
  EXPECT_EQ(budget_.figures().lent_bytes, budget_.lent_bytes());
  EXPECT_TRUE(budget_.holds());
}

TEST_F(Budget, AnOfferKeepsTheLeastCacheAndWhatMemtablesHaveLatelyHeld) {
  CacheOffer offer = budget_.offer();
  EXPECT_LE(offer.lendable_bytes, kNodeBytes / MemoryBudget::kLoanShare);
  EXPECT_EQ(offer.unused_bytes, offer.lendable_bytes);
  EXPECT_FALSE(offer.full);
  const size_t idle = offer.lendable_bytes;
  Ref<TabletMemtable> memtable = memtable_of(kMemtableBytes);
  EXPECT_EQ(budget_.offer().lendable_bytes, 0u);
  end(*memtable);
  memtable = nullptr;
  free_all();
  EXPECT_EQ(budget_.offer().lendable_bytes, 0u) << "it was held a moment ago";
  for (int i = 0; i < 40; ++i) offer = budget_.offer();
  EXPECT_GT(offer.lendable_bytes, idle / 2);
  fill_cache();
  offer = budget_.offer();
  EXPECT_TRUE(offer.full);
  EXPECT_LT(offer.unused_bytes, budget_.headroom_bytes());
}

TEST_F(Budget, ALenderWhoseMemtablesNeedTheMemoryCallsItBackOnce) {
  size_t asked = 0;
  budget_.on_short([&asked] { ++asked; });
  budget_.grant(-static_cast<int64_t>(kNodeBytes / 4));
  EXPECT_EQ(asked, 0u);
  Ref<TabletMemtable> memtable = memtable_of(kMemtableBytes);
  EXPECT_TRUE(budget_.is_short());
  EXPECT_EQ(asked, 1u);
  budget_.grant(static_cast<int64_t>(kNodeBytes / 4));
  budget_.called_back();
  EXPECT_FALSE(budget_.is_short());
  add(*memtable, 1000);
  EXPECT_EQ(asked, 1u);
  end(*memtable);
}

constexpr size_t kStep = 10;

TEST(CacheLoan, GoesToTheFullCacheThatEarnsTheMost) {
  EXPECT_FALSE(pick_loan({}, kStep));
  const CacheOffer idle{.lendable_bytes = 100, .unused_bytes = 100, .came_back = 0, .full = false};
  const CacheOffer busy{.lendable_bytes = 0, .unused_bytes = 0, .came_back = 900, .full = true};
  const CacheOffer busier{
      .lendable_bytes = 50, .unused_bytes = 0, .came_back = 1'000, .full = true};
  const auto pick = [](std::vector<CacheOffer> offers) -> std::string {
    const auto loan = pick_loan(offers, kStep);
    return loan ? fmt::format("{} to {}: {}", loan->from, loan->to, loan->bytes) : "none";
  };
  EXPECT_EQ(pick({idle, busy, busier}), "0 to 2: 10");
  EXPECT_EQ(pick({busy, idle}), "1 to 0: 10");
  EXPECT_EQ(pick({busy, busier}), "none") << "both need it";
  EXPECT_EQ(pick({idle, idle}), "none");
  CacheOffer poor = busier;
  poor.came_back = 900 / kTimesEarned;
  EXPECT_EQ(pick({busy, poor}), "1 to 0: 10") << "memory in use, where it earns far less";
  poor.came_back += 1;
  EXPECT_EQ(pick({busy, poor}), "none");
  CacheOffer few = busy;
  few.came_back = kLeastEarned - 1;
  EXPECT_EQ(pick({few, idle}), "none");
  CacheOffer little = idle;
  little.unused_bytes = 2 * kStep - 1;
  little.came_back = 899;
  EXPECT_EQ(pick({busy, little}), "none") << "it would borrow it back soon";
}

}  // namespace
}  // namespace cellar::engine
