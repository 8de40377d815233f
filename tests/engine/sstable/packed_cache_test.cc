// Packed blocks of the cache: a block that is found has the contents that were inserted, within the
// budget, in whichever form it is kept.
#include <gtest/gtest.h>

#include "engine/sstable/block_cache.h"
#include "io/base/coding.h"
#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

constexpr size_t kBytes = 4096;
constexpr BlobId kPackedBlob{1};

BlockKey key_of(uint64_t offset) { return {kPackedBlob, offset}; }

// Half of the contents compresses; with `packs` false, nothing does.
std::string contents_of(uint64_t offset, size_t size = kBytes, bool packs = true) {
  Random random(offset);
  std::string contents(size, 'x');
  for (size_t i = 0; i + 8 <= size; i += 8)
    if (!packs || i / 48 % 2 == 0) store_le(contents.data() + i, random.next());
  return contents;
}

void insert(BlockCache& cache, uint64_t offset, const std::string& contents) {
  std::string stored;
  append_block(stored, contents, true, kPackedBlob, offset);
  const auto checked = check_block(stored, kPackedBlob, offset);
  ASSERT_TRUE(checked.has_value());
  char* into = nullptr;
  const BlockRef block = make_block(key_of(offset), contents.size(), into);
  std::memcpy(into, contents.data(), contents.size());
  cache.insert(block, &*checked);
}

// Reads like a table reader; returns whether the block was found.
bool read(BlockCache& cache, uint64_t offset, size_t size = kBytes, bool packs = true) {
  const std::string contents = contents_of(offset, size, packs);
  if (const BlockRef block = cache.find(key_of(offset))) {
    EXPECT_EQ(block->contents(), contents);
    return true;
  }
  insert(cache, offset, contents);
  return false;
}

// The budget for that many unpacked blocks.
size_t room_for(size_t blocks) { return blocks * (sizeof(Block) + kBytes); }

// Fills the cache with blocks that are not used again.
void fill(BlockCache& cache) {
  for (uint64_t i = 0; cache.stats().evicted < 100; ++i) read(cache, 1'000'000 + i);
}

TEST(PackedCache, WhereThereIsRoomBlocksAreKeptAsReadersWantThem) {
  BlockCache cache(room_for(50));
  for (int round = 0; round < 3; ++round)
    for (uint64_t i = 0; i < 50; ++i) EXPECT_EQ(read(cache, i), round > 0);
  EXPECT_EQ(cache.packed_bytes(), 0u);
  EXPECT_EQ(cache.stats().packed_hits, 0u);
  EXPECT_EQ(cache.stats().packed, 0u);
}

TEST(PackedCache, WhereThereIsNoneNearlyTwiceAsManyAreFound) {
  BlockCache cache(room_for(100));
  Random random(1);
  constexpr int kReads = 20'000;
  int found = 0;
  for (int i = 0; i < 2 * kReads; ++i) {
    const bool hit = read(cache, random.below(1000));
    if (i >= kReads) found += hit ? 1 : 0;
    ASSERT_LE(cache.bytes(), room_for(100));
  }
  // Unpacked, a tenth would be found.
  EXPECT_GT(found, kReads * 17 / 100);
  EXPECT_GT(cache.packed_bytes(), cache.bytes() * 9 / 10);
}

// Blocks whose form on disk the cache does not keep are packed when they are read again.
TEST(PackedCache, BlocksThatComeWithoutAPackedFormArePackedWhenTheyComeBack) {
  BlockCache cache(room_for(100));
  Random random(4);
  constexpr int kReads = 20'000;
  int found = 0;
  for (int i = 0; i < 2 * kReads; ++i) {
    const uint64_t offset = random.below(1000);
    const std::string contents = contents_of(offset);
    const BlockRef block = cache.find(key_of(offset));
    if (block) {
      ASSERT_EQ(block->contents(), contents);
      if (i >= kReads) ++found;
    } else {
      char* into = nullptr;
      const BlockRef read = make_block(key_of(offset), contents.size(), into);
      std::memcpy(into, contents.data(), contents.size());
      cache.insert(read);
    }
    ASSERT_LE(cache.bytes(), room_for(100));
  }
  EXPECT_GT(found, kReads * 15 / 100);
}

TEST(PackedCache, WhatFitsPackedIsAllFound) {
  BlockCache cache(room_for(100));
  Random random(2);
  int missed = 0;
  for (int i = 0; i < 40'000; ++i) {
    const bool hit = read(cache, random.below(150));
    if (i >= 20'000 && !hit) ++missed;
  }
  // A third would be missed otherwise; the cache keeps trying to hold some unpacked.
  EXPECT_LT(missed, 20'000 / 12);
}

TEST(PackedCache, ABlockThatIsAskedForOftenIsKeptUnpacked) {
  BlockCache cache(room_for(100));
  fill(cache);
  read(cache, 1);
  for (int i = 1; i < BlockCache::kMaxAsked; ++i)
    EXPECT_FALSE(cache.find(key_of(1))->is_cached()) << "a copy for its reader";
  EXPECT_TRUE(cache.find(key_of(1))->is_cached());
  EXPECT_EQ(cache.stats().unpacked, 1u);
  const uint64_t packed_hits = cache.stats().packed_hits;
  BlockSlot slot;
  for (int i = 0; i < 2; ++i) EXPECT_EQ(cache.find(key_of(1), slot)->contents(), contents_of(1));
  EXPECT_TRUE(cache.find(slot));
  EXPECT_EQ(cache.stats().packed_hits, packed_hits);
}

TEST(PackedCache, OnesThatAreNotAskedForAnyMoreArePackedAgainUnderWhoPinsThem) {
  BlockCache cache(room_for(100));
  for (int round = 0; round < 3; ++round)
    for (uint64_t i = 0; i < 80; ++i) read(cache, i);
  ASSERT_EQ(cache.packed_bytes(), 0u);
  std::vector<BlockRef> pinned;
  BlockSlot slot;
  for (uint64_t i = 0; i < 80; ++i) pinned.push_back(cache.find(key_of(i)));
  EXPECT_EQ(cache.find(key_of(0), slot).get(), pinned[0].get());
  // The other blocks are read again soon, several times.
  Random random(3);
  for (int i = 0; i < 5000; ++i) read(cache, 100 + random.below(200));
  EXPECT_GT(cache.stats().packed, 0u);
  EXPECT_FALSE(cache.find(slot));
  for (uint64_t i = 0; i < 80; ++i) {
    EXPECT_EQ(pinned[i]->contents(), contents_of(i));
    EXPECT_FALSE(pinned[i]->is_cached());
  }
}

TEST(PackedCache, AScanDoesNotPushOutWhatIsAskedForAgainAndAgain) {
  BlockCache cache(room_for(100));
  fill(cache);
  for (int round = 0; round < 20; ++round)
    for (uint64_t hot = 0; hot < 85; ++hot) read(cache, hot);
  for (uint64_t cold = 1000; cold < 5000; ++cold) read(cache, cold);
  size_t kept = 0;
  for (uint64_t hot = 0; hot < 85; ++hot) kept += cache.contains(key_of(hot)) ? 1 : 0;
  EXPECT_EQ(kept, 85u);
}

TEST(PackedCache, WhatDoesNotUnpackIsForgottenAndNeverServed) {
  const std::string contents = contents_of(1);
  std::string packed = contents_of(7, 2000, false);
  for (const size_t raw_bytes : {contents.size(), contents.size() - 1, size_t{10}}) {
    BlockCache cache(room_for(100));
    fill(cache);
    CheckedBlock stored;
    stored.type = BlockType::lz4;
    stored.payload = packed;
    stored.raw_bytes = raw_bytes;
    char* into = nullptr;
    const BlockRef block = make_block(key_of(1), contents.size(), into);
    std::memcpy(into, contents.data(), contents.size());
    cache.insert(block, &stored);
    ASSERT_TRUE(cache.contains(key_of(1)));
    EXPECT_FALSE(cache.find(key_of(1)));
    EXPECT_FALSE(cache.contains(key_of(1)));
    EXPECT_EQ(cache.stats().spoilt, 1u);
    EXPECT_FALSE(read(cache, 1));
    EXPECT_TRUE(read(cache, 1));
  }
}

TEST(PackedCache, ManyThatHaveToGoAtOnceAreNotAllPacked) {
  BlockCache cache(room_for(400));
  for (int round = 0; round < 2; ++round)
    for (uint64_t i = 0; i < 400; ++i) read(cache, i);
  for (uint64_t i = 0; i < 300; ++i) read(cache, 1000 + i % 150);
  const uint64_t before = cache.stats().packed;
  cache.charge(room_for(300));
  EXPECT_LE(cache.bytes(), room_for(100));
  EXPECT_LE(cache.stats().packed - before, BlockCache::kMostPacksAtOnce);
}

// Such a block would need the dictionary of its table, and unpacks more slowly than LZ4.
TEST(PackedCache, WhatZstandardPackedIsNotKeptAsItCame) {
  CheckedBlock stored;
  stored.payload = "a frame";
  stored.raw_bytes = 100;
  for (const BlockType type : {BlockType::raw, BlockType::zstd, BlockType::zstd_dictionary}) {
    stored.type = type;
    EXPECT_FALSE(PackedBlock::keeps(stored));
  }
  stored.type = BlockType::lz4;
  EXPECT_TRUE(PackedBlock::keeps(stored));
}

TEST(PackedCache, LargeBlocksAreNotPacked) {
  constexpr size_t kLarge = PackedBlock::kMostRawBytes + 1;
  BlockCache cache(20 * kLarge);
  for (int round = 0; round < 3; ++round)
    for (uint64_t i = 0; i < 40; ++i) read(cache, i, kLarge);
  EXPECT_EQ(cache.packed_bytes(), 0u);
}

// Compared with a map of everything that was inserted: sizes, kinds, charges, budgets, pins.
TEST(PackedCache, WhatIsFoundIsWhatWasPutThereWhateverHappens) {
  for (const uint64_t seed : test_seeds(5)) {
    SCOPED_TRACE(seed);
    Random random(seed);
    BlockCache cache(300'000);
    uint64_t charged = 0;
    uint64_t finds = 0;
    std::vector<std::pair<BlockRef, std::string>> pinned(8);
    for (int i = 0; i < 15'000; ++i) {
      const uint64_t offset = random.below(2) == 0 ? random.below(40) : random.below(300);
      const size_t size = 1 + offset * 7919 % (offset % 50 == 0 ? 90'000 : 6000);
      const bool packs = offset % 5 != 0;
      ++finds;
      read(cache, offset, size, packs);
      if (random.below(4) == 0) {
        ++finds;
        pinned[random.below(pinned.size())] = {cache.find(key_of(offset)),
                                               contents_of(offset, size, packs)};
      }
      for (const auto& [block, contents] : pinned)
        if (block && i % 100 == 0) ASSERT_EQ(block->contents(), contents);
      if (random.below(500) == 0) {
        cache.release(charged);
        cache.charge(charged = random.below(400'000));
      }
      if (random.below(1000) == 0) cache.set_budget(random.below(4) * 100'000);
      const size_t least = cache.budget_bytes() / 8;
      ASSERT_LE(cache.bytes(),
                std::max(least, cache.budget_bytes() - std::min(cache.budget_bytes(), charged)));
      ASSERT_LE(cache.packed_bytes(), cache.bytes());
      const BlockCache::Stats& stats = cache.stats();
      ASSERT_EQ(stats.hits + stats.misses, finds);
      ASSERT_EQ(stats.inserted - stats.evicted, cache.blocks());
      ASSERT_EQ(stats.spoilt, 0u);
    }
    EXPECT_GT(cache.stats().packed_hits, 100u);
    EXPECT_GT(cache.stats().unpacked, 10u);
  }
}

}  // namespace
}  // namespace cellar::engine
