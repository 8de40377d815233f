#include <gtest/gtest.h>

#include <string>

#include "io/loop/mailbox.h"
#include "io/sim/sim_loop.h"
#include "io/sim/sim_transport.h"

namespace cellar {
namespace {

// Three loops that sleep, yield, call one another and use the network, and record the order of
// their events.
std::string trace_of(uint64_t seed) {
  std::string trace;
  SimWorld world(seed);
  SimFabric fabric(world);
  Mailboxes mailboxes(3);
  std::vector<SimLoop*> loops;
  for (uint32_t i = 0; i < 3; ++i) {
    loops.push_back(&world.add_loop());
    mailboxes.attach(ShardId(i), *loops[i]);
  }
  for (uint32_t i = 0; i < 3; ++i) {
    SimLoop& loop = *loops[i];
    Mailbox& mailbox = mailboxes.of(ShardId(i));
    spawn(loop.executor(), [&, i]() -> Async<void> {
      for (int step = 0; step < 20; ++step) {
        co_await sleep_us(loop.timers(), static_cast<int64_t>(world.random().below(50)));
        const ShardId peer((i + 1 + static_cast<uint32_t>(world.random().below(2))) % 3);
        const auto there = [&trace, &world, i, peer]() -> Async<int> {
          trace += fmt::format("{}>{}@{} ", i, peer, world.now_us());
          co_await yield_now();
          co_return 1;
        };
        co_await mailbox.call_on(peer, there);
      }
    });
  }
  world.run_for_us(10'000);
  world.crash();
  return trace;
}

TEST(SimWorld, SameSeedGivesTheSameTraceAndAnotherSeedAnother) {
  const std::string first = trace_of(17);
  EXPECT_GT(first.size(), 500u);
  EXPECT_EQ(first, trace_of(17));
  EXPECT_NE(first, trace_of(18));
}

TEST(SimWorld, TimePassesOnlyAsFarAsAsked) {
  SimWorld world;
  SimLoop& loop = world.add_loop();
  bool woke = false;
  spawn(loop.executor(), [&]() -> Async<void> {
    co_await sleep_us(loop.timers(), 1'000);
    woke = true;
  });
  const int64_t before = world.now_us();
  world.run_until_idle();
  EXPECT_EQ(world.now_us(), before);
  world.run_for_us(999);
  EXPECT_FALSE(woke);
  world.run_for_us(1);
  EXPECT_TRUE(woke);
  world.run_for_us(5'000);
  EXPECT_EQ(world.now_us(), before + 6'000);
}

TEST(SimWorld, WallAndBootTimePassTogetherAndTheWallMayJump) {
  SimWorld world;
  world.add_loop();
  world.run_for_us(2'000);
  EXPECT_EQ(world.clock().wall_us(), SimWorld::kStartWallUs + 2'000);
  world.clock().set_wall_us(5);
  world.run_for_us(10);
  EXPECT_EQ(world.clock().wall_us(), 15);
}

TEST(SimWorld, RunUntilGivesUpWhenNothingWillEverHappen) {
  SimWorld world;
  world.add_loop();
  EXPECT_FALSE(world.run_until([] { return false; }));
}

TEST(SimLoop, CrashDestroysSuspendedCoroutinesOfThatLoopOnly) {
  std::string gone;
  struct Note {
    Note(std::string& log, char name) : out(log), who(name) {}
    ~Note() { out += who; }
    std::string& out;
    char who;
  };
  SimWorld world;
  SimLoop& a = world.add_loop();
  SimLoop& b = world.add_loop();
  const auto wait = [&](SimLoop& loop, char name) {
    spawn(loop.executor(), [&, name]() -> Async<void> {
      const Note note(gone, name);
      co_await sleep_us(loop.timers(), 1'000);
      gone += "done ";
    });
  };
  wait(a, 'a');
  wait(b, 'b');
  world.run_until_idle();
  a.crash();
  EXPECT_EQ(gone, "a");
  world.run_for_us(2'000);
  EXPECT_EQ(gone, "adone b");
}

}  // namespace
}  // namespace cellar
