// Waiter, spawn, sleep, Event, ConditionVariable, AsyncMutex, Gate and Semaphore on virtual time.
#include "io/loop/async.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "io/loop/event.h"
#include "io/loop/gate.h"
#include "io/loop/semaphore.h"
#include "io/sim/sim_loop.h"

namespace cellar {
namespace {

class AsyncTest : public testing::Test {
 protected:
  template <class F>
  void start(F fn) {
    spawn(loop_.executor(), std::move(fn));
  }
  Timers& timers() { return loop_.timers(); }

  std::string trace_;  // outlives the world: a destroyed coroutine may still write to it
  SimWorld world_;
  SimLoop& loop_ = world_.add_loop();
};

TEST_F(AsyncTest, BlockOnAnswersWhatTheCoroutineAnswers) {
  const auto work = [](Timers& t) -> Async<Result<int>> {
    co_await sleep_us(t, 3'000);
    co_return 7;
  };
  const int64_t before = world_.now_us();
  EXPECT_EQ(world_.block_on(loop_, work(timers())).value(), 7);
  EXPECT_EQ(world_.now_us() - before, 3'000);
}

TEST_F(AsyncTest, BlockOnSomethingThatNeverEndsIsABug) {
  Event never;
  EXPECT_DEATH(world_.block_on(loop_, never.wait()), "went idle");
}

TEST_F(AsyncTest, YieldLetsEverythingReadyRunFirst) {
  for (const char name : {'a', 'b', 'c'}) {
    start([this, name]() -> Async<void> {
      for (int i = 0; i < 3; ++i) {
        trace_ += name;
        co_await yield_now();
      }
    });
  }
  world_.run_until_idle();
  EXPECT_EQ(trace_, "abcabcabc");
}

TEST_F(AsyncTest, WaiterRemembersOneResumeThatCameFirst) {
  Waiter waiter;
  waiter.resume();
  world_.block_on(loop_, waiter.wait());
  start([&]() -> Async<void> {
    co_await waiter.wait();
    trace_ += "second";
  });
  world_.run_until_idle();
  EXPECT_EQ(trace_, "");
  EXPECT_TRUE(waiter.parked());
  waiter.resume();
  world_.run_until_idle();
  EXPECT_EQ(trace_, "second");
}

TEST_F(AsyncTest, EventReleasesAllAndStaysSetUntilReset) {
  Event event;
  for (int i = 0; i < 3; ++i) {
    start([&]() -> Async<void> {
      co_await event.wait();
      trace_ += 'x';
    });
  }
  world_.run_until_idle();
  EXPECT_EQ(trace_, "");
  event.set();
  world_.run_until_idle();
  EXPECT_EQ(trace_, "xxx");
  world_.block_on(loop_, event.wait());
  event.reset();
  EXPECT_FALSE(event.is_set());
}

TEST_F(AsyncTest, NotifyWakesInOrderAndOnlyThoseWhoWait) {
  ConditionVariable notify;
  EXPECT_FALSE(notify.notify_one());
  for (const char name : {'a', 'b', 'c'}) {
    start([&, name]() -> Async<void> {
      co_await notify.wait();
      trace_ += name;
    });
  }
  world_.run_until_idle();
  EXPECT_TRUE(notify.notify_one());
  world_.run_until_idle();
  EXPECT_EQ(trace_, "a");
  notify.notify_all();
  world_.run_until_idle();
  EXPECT_EQ(trace_, "abc");
}

TEST_F(AsyncTest, MutexIsHeldAcrossSuspensionsFirstComeFirstServed) {
  AsyncMutex mutex;
  for (const char name : {'a', 'b', 'c'}) {
    start([&, name]() -> Async<void> {
      const AsyncMutex::Lock lock = co_await mutex.lock();
      trace_ += name;
      co_await sleep_us(timers(), 1'000);
      trace_ += name;
    });
  }
  world_.run_for_us(10'000);
  EXPECT_EQ(trace_, "aabbcc");
  EXPECT_FALSE(mutex.locked());
}

TEST_F(AsyncTest, GateClosesOnlyWhenTheLastHasLeft) {
  Gate gate("tablet 3");
  start([&]() -> Async<void> {
    const auto pass = gate.enter();
    co_await sleep_us(timers(), 5'000);
    trace_ += "left ";
  });
  start([&]() -> Async<void> {
    co_await gate.close();
    trace_ += "closed";
  });
  world_.run_until_idle();
  EXPECT_EQ(gate.inside(), 1u);
  EXPECT_EQ(gate.enter().error().to_string(), "UNAVAILABLE: tablet 3 is closing");
  world_.run_for_us(10'000);
  EXPECT_EQ(trace_, "left closed");
  world_.block_on(loop_, gate.close());
}

TEST(GateDeathTest, DestroyedWithSomebodyInsideIsABug) {
  EXPECT_DEATH(
      {
        Gate gate("door");
        new Result<Gate::Pass>(gate.enter());
      },
      "gate 'door' destroyed with 1 inside");
}

TEST_F(AsyncTest, UnitsAreHandedOutInLineAndNobodyOvertakes) {
  Semaphore units(10);
  std::optional<Semaphore::Lease> most = units.try_take(8);
  ASSERT_TRUE(most);
  start([&]() -> Async<void> {
    const Semaphore::Lease lease = co_await units.take(5);
    trace_ += 'a';
    co_await sleep_us(timers(), 1'000);
  });
  start([&]() -> Async<void> {
    const Semaphore::Lease lease = co_await units.take(1);
    trace_ += 'b';
  });
  world_.run_until_idle();
  EXPECT_EQ(trace_, "");
  EXPECT_FALSE(units.try_take(1)) << "overtook those who wait";
  most.reset();
  world_.run_for_us(5'000);
  EXPECT_EQ(trace_, "ab");
  EXPECT_EQ(units.available(), 10u);
}

TEST_F(AsyncTest, UnitsGrantedToACoroutineThatIsDroppedComeBack) {
  Semaphore units(4);
  {
    SimWorld other;
    SimLoop& loop = other.add_loop();
    std::optional<Semaphore::Lease> all = units.try_take(4);
    spawn(loop.executor(), [&]() -> Async<void> {
      const Semaphore::Lease lease = co_await units.take(3);
      co_await sleep_us(loop.timers(), 1'000'000);
    });
    spawn(loop.executor(),
          [&]() -> Async<void> { const Semaphore::Lease lease = co_await units.take(2); });
    other.run_until_idle();
    all.reset();  // granted, but its coroutine has not run yet
  }
  EXPECT_EQ(units.available(), 4u);
}

}  // namespace
}  // namespace cellar
