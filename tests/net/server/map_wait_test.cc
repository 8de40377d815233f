// A wait for the next table map completes once: by the map, or by its timeout.
#include "net/server/shard/map_wait.h"

#include <gtest/gtest.h>

#include "io/sim/sim_loop.h"

namespace cellar::server {
namespace {

struct Counting final : MapWaiter {
  int told = 0;
  void map_wait_over() override { ++told; }
};

class MapWait : public testing::Test {
 protected:
  SimWorld world{1};
  SimLoop& loop{world.add_loop()};
  MapWaiters waiters{loop.timers()};
  int64_t now_us() { return loop.timers().now_us(); }
};

TEST_F(MapWait, TheNextMapWakesAllOnce) {
  Counting a;
  Counting b;
  waiters.wait(a, now_us() + 1'000'000);
  waiters.wait(b, now_us() + 2'000'000);
  waiters.wake_all();
  waiters.wake_all();
  world.run_for_us(5'000'000);
  EXPECT_EQ(a.told, 1);
  EXPECT_EQ(b.told, 1);
}

TEST_F(MapWait, EachIsToldWhenItsOwnTimeIsOver) {
  Counting later;
  Counting sooner;
  waiters.wait(later, now_us() + 2'000'000);
  waiters.wait(sooner, now_us() + 1'000'000);
  world.run_for_us(1'500'000);
  EXPECT_EQ(sooner.told, 1);
  EXPECT_EQ(later.told, 0);
  world.run_for_us(1'000'000);
  EXPECT_EQ(later.told, 1);
}

TEST_F(MapWait, WhoStopsOrIsGoneIsNotTold) {
  Counting stopped;
  waiters.wait(stopped, now_us() + 1'000'000);
  MapWaiters::stop(stopped);
  {
    Counting gone;
    waiters.wait(gone, now_us() + 1'000'000);
  }
  waiters.wake_all();
  world.run_for_us(2'000'000);
  EXPECT_EQ(stopped.told, 0);
}

}  // namespace
}  // namespace cellar::server
