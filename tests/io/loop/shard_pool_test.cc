#include "io/loop/shard_pool.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <set>
#include <thread>

namespace cellar {
namespace {

TEST(ShardPool, SetupLoopAndTeardownOfAShardShareOneThread) {
  const SystemClock clock;
  ShardPool pool(clock, {.shards = 3, .seed = 1});
  std::vector<std::thread::id> setup(3), work(3), teardown(3);
  const auto here = [] { return std::this_thread::get_id(); };
  pool.start([&](Shard& s) { setup[s.id().value()] = here(); });
  pool.run_on_all([&](Shard& s) -> Async<void> {
    work[s.id().value()] = here();
    co_return;
  });
  pool.stop({}, [&](Shard& s) { teardown[s.id().value()] = here(); });
  EXPECT_EQ(setup, work);
  EXPECT_EQ(setup, teardown);
  EXPECT_EQ(std::set<std::thread::id>(setup.begin(), setup.end()).size(), 3u);
}

TEST(ShardPool, PinsEachShardToACoreOfItsOwnWhenThereAreEnough) {
  if (ShardPool::cores() < 2) GTEST_SKIP() << "needs two cores";
  const SystemClock clock;
  ShardPool pool(clock, {.shards = 2, .pin = true, .seed = 1});
  std::vector<int> allowed(2), first(2);
  pool.start([&](Shard& s) {
    cpu_set_t set;
    CPU_ZERO(&set);
    sched_getaffinity(0, sizeof set, &set);
    allowed[s.id().value()] = CPU_COUNT(&set);
    for (int i = CPU_SETSIZE - 1; i >= 0; --i) {
      if (CPU_ISSET(i, &set)) first[s.id().value()] = i;
    }
  });
  pool.stop();
  EXPECT_EQ(allowed, std::vector<int>({1, 1}));
  EXPECT_NE(first[0], first[1]);
}

TEST(ShardPool, LastWorkOfEveryShardIsDoneBeforeTheLoopsEnd) {
  const SystemClock clock;
  ShardPool pool(clock, {.shards = 2, .seed = 1});
  pool.start();
  std::atomic<int> flushed = 0;
  pool.stop([&](Shard& shard) -> Async<void> {
    co_await sleep_us(shard.timers(), 20'000 * (shard.id().value() + 1));
    ++flushed;
  });
  EXPECT_EQ(flushed, 2);
}

TEST(ShardPool, MayBeStartedAgainAfterAStop) {
  const SystemClock clock;
  ShardPool pool(clock, {.shards = 2, .seed = 1});
  int runs = 0;
  for (int i = 0; i < 3; ++i) {
    pool.start();
    pool.run_on(ShardId(1), [&](Shard&) -> Async<void> {
      ++runs;
      co_return;
    });
    pool.stop();
  }
  EXPECT_EQ(runs, 3);
}

TEST(ShardPool, DestroyingARunningPoolStopsIt) {
  const SystemClock clock;
  ShardPool pool(clock, {.shards = 2, .seed = 1});
  pool.start(
      [](Shard& shard) { spawn(shard.executor(), sleep_us(shard.timers(), 1'000'000'000)); });
}

TEST(ShardPool, IdlePoolUsesNoCpu) {
  const SystemClock clock;
  ShardPool pool(clock, {.shards = 2, .seed = 1});
  pool.start();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::clock_t before = std::clock();
  std::this_thread::sleep_for(std::chrono::milliseconds(400));
  const double used_s = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  pool.stop();
  EXPECT_LT(used_s, 0.02);
}

}  // namespace
}  // namespace cellar
