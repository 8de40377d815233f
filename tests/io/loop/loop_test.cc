#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <thread>

#include <boost/asio/post.hpp>

#include "io/base/log.h"
#include "io/loop/shard_loop.h"
#include "io/loop/stall_watch.h"

namespace cellar {
namespace {

int64_t cpu_us() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  const auto us = [](timeval t) { return int64_t{t.tv_sec} * 1'000'000 + t.tv_usec; };
  return us(usage.ru_utime) + us(usage.ru_stime);
}

struct CountingHook final : LoopHook {
  bool on_turn() override {
    ++turns;
    return work_left > 0 && work_left-- > 0;
  }
  bool may_sleep() override {
    ++asked;
    return allows_sleep;
  }
  int turns = 0;
  int work_left = 0;
  int asked = 0;
  bool allows_sleep = true;
};

TEST(ShardLoop, IdleLoopSleepsAndUsesNoCpu) {
  ShardLoop loop;
  const int64_t cpu_before = cpu_us();
  block_on(loop, sleep_us(loop.timers(), 400'000));
  EXPECT_LT(cpu_us() - cpu_before, 20'000);
  EXPECT_GT(loop.slept_us(), 350'000);
  EXPECT_LT(loop.turns(), 2'000u);
}

TEST(ShardLoop, TickingLoopDoesNotSpinBetweenItsTicks) {
  ShardLoop loop(ShardLoop::kMaxSpinUs);
  const auto tick = [&]() -> Async<void> {
    for (int i = 0; i < 100; ++i) co_await sleep_us(loop.timers(), 4'000);
  };
  const int64_t cpu_before = cpu_us();
  block_on(loop, tick());
  EXPECT_LT(cpu_us() - cpu_before, 40'000) << "spinning 1 ms after every tick takes 100 ms";
}

// The handler that ends a sleep runs before the loop's next turn.
TEST(ShardLoop, ATimerArmedByTheHandlerThatEndsASleepCountsFromThatMoment) {
  ShardLoop loop(0);
  bool fired = false;
  Timer timer(loop.timers(), [](void* f) { *static_cast<bool*>(f) = true; }, &fired);
  std::thread poster([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(300));
    asio::post(loop.context(), [&] { timer.arm_after_us(150'000); });
  });
  while (!timer.armed()) loop.turn(true);
  loop.turn(false);
  loop.turn(false);
  EXPECT_FALSE(fired);
  poster.join();
}

TEST(ShardLoop, StopFromAnotherThreadWakesASleepingLoop) {
  ShardLoop loop;
  std::thread stopper([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    loop.stop();
  });
  loop.run();
  stopper.join();
}

TEST(ShardLoop, StopBeforeRunIsNotForgotten) {
  ShardLoop loop;
  loop.stop();
  loop.run();
}

TEST(ShardLoop, PostFromAnotherThreadIsRunBySleepingLoop) {
  ShardLoop loop(0);
  bool ran = false;
  std::thread poster([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    asio::post(loop.context(), [&] { ran = true; });
  });
  while (!ran) loop.turn(true);
  poster.join();
}

TEST(ShardLoop, HookThatForbidsSleepKeepsTheLoopTurning) {
  ShardLoop loop(0);
  CountingHook hook;
  hook.allows_sleep = false;
  loop.add_hook(hook);
  for (int i = 0; i < 10; ++i) loop.turn(true);  // would block: no timer is armed
  EXPECT_EQ(hook.turns, 10);
  EXPECT_EQ(hook.asked, 10);
  loop.remove_hook(hook);
}

TEST(ShardLoop, HooksAreNotAskedForSleepWhileOneHasWork) {
  ShardLoop loop(0);
  CountingHook hook;
  hook.work_left = 5;
  loop.add_hook(hook);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(loop.turn(true));
  EXPECT_EQ(hook.asked, 0);
  loop.remove_hook(hook);
}

TEST(ShardLoop, HandlersThatKeepPostingDoNotStarveHooks) {
  ShardLoop loop(0);
  CountingHook hook;
  loop.add_hook(hook);
  bool stop = false;
  spawn(loop.executor(), [&]() -> Async<void> {
    while (!stop) co_await yield_now();
  });
  for (int i = 0; i < 3; ++i) loop.turn(true);
  EXPECT_EQ(hook.turns, 3);
  stop = true;
  loop.turn(false);
  loop.remove_hook(hook);
}

TEST(ShardLoop, HookMayRemoveItselfAndAddAnotherInItsTurn) {
  struct Once final : LoopHook {
    bool on_turn() override {
      loop->remove_hook(*this);
      loop->add_hook(*successor);
      return true;
    }
    ShardLoop* loop = nullptr;
    LoopHook* successor = nullptr;
  };
  ShardLoop loop(0);
  CountingHook first, successor;
  Once once;
  once.loop = &loop;
  once.successor = &successor;
  loop.add_hook(first);
  loop.add_hook(once);
  loop.turn(false);
  EXPECT_EQ(successor.turns, 0);
  loop.turn(false);
  EXPECT_EQ(first.turns, 3) << "again in the first turn, after the hook that did work";
  EXPECT_EQ(successor.turns, 1);
  loop.remove_hook(first);
  loop.remove_hook(successor);
}

TEST(ShardLoop, WhatALaterHookHandsToAnEarlierOneLeavesInTheSameTurn) {
  struct Sender final : LoopHook {
    bool on_turn() override {
      if (!queued) return false;
      queued = false;
      ++sent;
      return true;
    }
    bool queued = false;
    int sent = 0;
  };
  struct Source final : LoopHook {
    explicit Source(Sender& to) : sender(to) {}
    bool on_turn() override { return sender.queued = std::exchange(due, false); }
    Sender& sender;
    bool due = false;
  };
  ShardLoop loop(0);
  Sender sender;
  Source source(sender);
  CountingHook idle;
  loop.add_hook(sender);
  loop.add_hook(source);
  loop.add_hook(idle);
  source.due = true;
  EXPECT_TRUE(loop.turn(false));
  EXPECT_EQ(sender.sent, 1);
  EXPECT_EQ(idle.turns, 1);
  EXPECT_FALSE(loop.turn(false));
  loop.remove_hook(sender);
  loop.remove_hook(source);
  loop.remove_hook(idle);
}

TEST(ShardLoop, SuspendedCoroutinesGoWithTheirLoop) {
  struct Tracker {
    explicit Tracker(int& n) : alive(n) { ++alive; }
    ~Tracker() { --alive; }
    int& alive;
  };
  int alive = 0;
  {
    ShardLoop loop;
    for (int i = 0; i < 3; ++i) {
      spawn(loop.executor(), [&]() -> Async<void> {
        const Tracker tracker(alive);
        co_await sleep_us(loop.timers(), 1'000'000'000);
      });
    }
    loop.turn(false);
    EXPECT_EQ(alive, 3);
  }
  EXPECT_EQ(alive, 0);
}

TEST(StallWatch, CountsALongTurnButNotSleep) {
  const SystemClock clock;
  ShardLoop loop(0);
  StallWatch watch(loop, clock, 20'000);
  set_log_level(LogLevel::off);
  block_on(loop, sleep_us(loop.timers(), 60'000));
  EXPECT_EQ(watch.stalls(), 0u);
  asio::post(loop.context(), [] { std::this_thread::sleep_for(std::chrono::milliseconds(40)); });
  loop.turn(false);
  loop.turn(false);
  loop.turn(false);
  EXPECT_EQ(watch.stalls(), 1u);
  EXPECT_GE(watch.longest_us(), 40'000);
  set_log_level(LogLevel::info);
}

}  // namespace
}  // namespace cellar
