// The resident size of a node whose allocator keeps freed memory: it comes down to the
// target, at what the block cache can give, and the cache gets it back.
#include "net/server/control/resident_watch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "io/sim/sim_loop.h"

namespace cellar::server {
namespace {

constexpr uint64_t kMiB = 1 << 20;
constexpr uint64_t kTotal = 128 * kMiB;
constexpr uint64_t kTarget = kTotal / 16 * ResidentWatch::kTargetSixteenths;
constexpr uint64_t kLeastCache = 16 * kMiB;  // of a shard

// A process with shards whose caches take what they may.
class FakeProcess final : public ProcessMemory {
 public:
  explicit FakeProcess(size_t shards) : withheld(shards) {}

  uint64_t resident_bytes() override { return known ? held + kept + cache_bytes() : 0; }
  void collect() override {
    ++collections;
    kept = std::min(kept, stuck);
  }
  size_t withhold(size_t shard, size_t bytes) {
    withheld[shard] = std::min(bytes, lent / withheld.size() - kLeastCache);
    return withheld[shard];
  }
  uint64_t all_withheld() const {
    uint64_t sum = 0;
    for (const size_t one : withheld) sum += one;
    return sum;
  }
  uint64_t cache_bytes() const { return lent - all_withheld(); }

  std::vector<size_t> withheld;
  uint64_t lent = 80 * kMiB;
  uint64_t held = kTarget - lent;  // what the cache cannot change
  uint64_t kept = 0;               // freed, and kept by the allocator,
  uint64_t stuck = 0;              // of it, what a collection does not find
  int collections = 0;
  bool known = true;
};

class ResidentWatchTest : public testing::Test {
 protected:
  void start(size_t shards) {
    process = std::make_unique<FakeProcess>(shards);
    for (size_t i = 0; i < shards; ++i) {
      watches.push_back(std::make_unique<ResidentWatch>(
          loop.timers(), *process, kTotal, static_cast<uint32_t>(shards),
          [this, i](size_t bytes) { return process->withhold(i, bytes); }));
    }
  }
  void run_ms(int64_t ms) { world.run_for_us(ms * 1000); }

  SimWorld world;
  SimLoop& loop = world.add_loop();
  std::unique_ptr<FakeProcess> process;
  std::vector<std::unique_ptr<ResidentWatch>> watches;
};

TEST_F(ResidentWatchTest, UpToTheTargetNothingIsDone) {
  start(2);
  run_ms(10'000);
  EXPECT_EQ(process->collections, 0);
  EXPECT_EQ(process->all_withheld(), 0u);
}

TEST_F(ResidentWatchTest, WhatTheAllocatorKeepsIsCollectedFirst) {
  start(1);
  process->kept = 40 * kMiB;
  run_ms(1000);
  EXPECT_EQ(process->collections, 1);
  EXPECT_EQ(process->kept, 0u);
  EXPECT_EQ(process->all_withheld(), 0u) << "a collection was enough";
}

TEST_F(ResidentWatchTest, ACollectionNeedsGrowth) {
  start(1);
  process->kept = process->stuck = 40 * kMiB;
  run_ms(1000);
  EXPECT_EQ(process->collections, 1);
  process->held += kTotal / ResidentWatch::kGrowthShare - 1;
  run_ms(1000);
  EXPECT_EQ(process->collections, 1);
  process->held += 2 * kTotal / ResidentWatch::kGrowthShare;
  run_ms(1000);
  EXPECT_EQ(process->collections, 2);
}

TEST_F(ResidentWatchTest, WhatACollectionDoesNotFindTheCacheGives) {
  start(2);
  process->kept = process->stuck = 30 * kMiB;
  run_ms(ResidentWatch::kFarUs / 1000);
  EXPECT_GE(process->all_withheld(), 1u);
  EXPECT_LE(process->all_withheld(), kTotal / ResidentWatch::kStepShare) << "a step";
  run_ms(500);
  EXPECT_NEAR(static_cast<double>(process->resident_bytes()), kTarget, kMiB);
  EXPECT_EQ(watches[0]->withheld_bytes(), process->withheld[0]);
  EXPECT_NEAR(static_cast<double>(process->withheld[0]), static_cast<double>(process->withheld[1]),
              8.0 * kMiB);
}

TEST_F(ResidentWatchTest, TheCacheGetsItBack) {
  start(2);
  process->kept = process->stuck = 30 * kMiB;
  run_ms(1000);
  process->kept = process->stuck = 0;
  const uint64_t before = process->all_withheld();
  run_ms(ResidentWatch::kNearUs / 1000);
  EXPECT_GT(process->all_withheld(), before / 2) << "not at once";
  run_ms(60'000);
  EXPECT_LT(process->all_withheld(), kMiB);
}

// Otherwise it would take as long to be lent again as it was withheld in vain.
TEST_F(ResidentWatchTest, WhatCouldNotBeWithheldIsForgotten) {
  start(1);
  process->held = 2 * kTotal;
  run_ms(60'000);
  EXPECT_EQ(process->cache_bytes(), kLeastCache);
  EXPECT_EQ(watches[0]->withheld_bytes(), process->lent - kLeastCache);
  process->held = 0;
  run_ms(10'000);
  EXPECT_LT(process->all_withheld(), 4 * kMiB);
}

TEST_F(ResidentWatchTest, AnUnknownSizeChangesNothing) {
  start(1);
  process->kept = process->stuck = 30 * kMiB;
  run_ms(1000);
  const uint64_t before = process->all_withheld();
  process->known = false;
  run_ms(10'000);
  EXPECT_EQ(process->all_withheld(), before);
}

}  // namespace
}  // namespace cellar::server
