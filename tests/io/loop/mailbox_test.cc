#include "io/loop/mailbox.h"

#include <gtest/gtest.h>

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "io/loop/event.h"
#include "io/loop/shard_pool.h"
#include "io/sim/sim_loop.h"

namespace cellar {
namespace {

constexpr ShardId kA(0), kB(1);

class SimMailboxTest : public testing::Test {
 protected:
  SimMailboxTest() {
    mailboxes_.attach(kA, a_);
    mailboxes_.attach(kB, b_);
  }
  SimWorld world_;
  SimLoop& a_ = world_.add_loop();
  SimLoop& b_ = world_.add_loop();
  Mailboxes mailboxes_{2};
  Mailbox& from_a_ = mailboxes_.of(kA);
  Mailbox& from_b_ = mailboxes_.of(kB);
};

struct Numbered : MailboxMessage {
  Numbered(int n, std::vector<int>& out) : number(n), seen(out) {
    run = [](MailboxMessage& self) {
      auto& m = static_cast<Numbered&>(self);
      m.seen.push_back(m.number);
    };
  }
  int number;
  std::vector<int>& seen;
};

TEST_F(SimMailboxTest, MessagesRunInOrderOnTheOtherShardAndNotInsideSend) {
  std::vector<int> seen;
  std::deque<Numbered> messages;
  for (int i = 0; i < 5; ++i) from_a_.send(kB, messages.emplace_back(i, seen));
  EXPECT_TRUE(seen.empty());
  world_.run_until_idle();
  EXPECT_EQ(seen, std::vector<int>({0, 1, 2, 3, 4}));
}

TEST_F(SimMailboxTest, MessageToOneselfIsDeliveredLater) {
  std::vector<int> seen;
  Numbered message(9, seen);
  from_a_.send(kA, message);
  EXPECT_TRUE(seen.empty());
  world_.run_until_idle();
  EXPECT_EQ(seen, std::vector<int>({9}));
}

TEST_F(SimMailboxTest, FullRingKeepsTheRestInOrderAtTheSender) {
  std::vector<int> seen;
  std::deque<Numbered> messages;
  const int count = 5 * static_cast<int>(Mailbox::kRingSlots) + 7;
  for (int i = 0; i < count; ++i) from_a_.send(kB, messages.emplace_back(i, seen));
  EXPECT_EQ(from_a_.overflowed(), static_cast<uint64_t>(count) - Mailbox::kRingSlots);
  world_.run_until_idle();
  ASSERT_EQ(seen.size(), static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) ASSERT_EQ(seen[static_cast<size_t>(i)], i);
}

TEST_F(SimMailboxTest, SentBeforeTheReceiverIsAttachedArrivesWhenItIs) {
  Mailboxes others(2);
  others.attach(kA, a_);
  std::vector<int> seen;
  Numbered message(1, seen);
  others.of(kA).send(kB, message);
  world_.run_until_idle();
  EXPECT_TRUE(seen.empty());
  others.attach(kB, b_);
  world_.run_until_idle();
  EXPECT_EQ(seen, std::vector<int>({1}));
}

TEST_F(SimMailboxTest, CallRunsThereAndAnswersHere) {
  const auto work = [&]() -> Async<std::string> {
    const auto there = [&]() -> Async<std::unique_ptr<std::string>> {
      co_await sleep_us(b_.timers(), 500);
      co_return std::make_unique<std::string>("from b");
    };
    const auto answer = co_await from_a_.call_on(kB, there);
    co_return *answer;
  };
  EXPECT_EQ(world_.block_on(a_, work()), "from b");
}

TEST_F(SimMailboxTest, CallOfVoidAndCallToOneselfWork) {
  int calls = 0;
  const auto count = [&]() -> Async<void> {
    ++calls;
    co_return;
  };
  world_.block_on(a_, from_a_.call_on(kB, count));
  world_.block_on(a_, from_a_.call_on(kA, count));
  EXPECT_EQ(calls, 2);
}

TEST_F(SimMailboxTest, PostedFunctionRunsOnceAndIsDestroyed) {
  auto owned = std::make_shared<int>(0);
  from_a_.post_on(kB, [owned] { ++*owned; });
  world_.run_until_idle();
  EXPECT_EQ(*owned, 1);
  EXPECT_EQ(owned.use_count(), 1);
}

TEST_F(SimMailboxTest, CallsUnderWayWhenTheWorldCrashesLeakNothing) {
  spawn(a_.executor(), [&]() -> Async<void> {
    const auto forever = [&]() -> Async<int> {
      co_await sleep_us(b_.timers(), 1'000'000);
      co_return 1;
    };
    co_await from_a_.call_on(kB, forever);
  });
  world_.run_until_idle();
  world_.crash();  // a leak is found by the sanitizer build
}

// Real threads. Under ThreadSanitizer these test the memory order.

TEST(Mailbox, PingPongAcrossSleepingThreads) {
  const SystemClock clock;
  ShardPool pool(clock, {.shards = 2, .spin_us = 0, .seed = 1});
  pool.start();
  int sum = 0;
  pool.run_on(kA, [&](Shard& shard) -> Async<void> {
    for (int i = 1; i <= 2'000; ++i) {
      const auto there = [i]() -> Async<int> { co_return i; };
      sum += co_await shard.mailbox().call_on(kB, there);
    }
  });
  pool.stop();
  EXPECT_EQ(sum, 2'000 * 2'001 / 2);
}

TEST(Mailbox, ThousandsUnderWayBothWaysAllArrive) {
  constexpr int kCallers = 3'000;  // more than a ring holds
  constexpr int kCallsEach = 5;
  const SystemClock clock;
  ShardPool pool(clock, {.shards = 2, .seed = 1});
  pool.start();
  std::vector<int> answered(2);
  pool.run_on_all([&](Shard& shard) -> Async<void> {
    const uint32_t me = shard.id().value();
    const ShardId peer(1 - me);
    Event all_done;
    int left = kCallers;
    for (int c = 0; c < kCallers; ++c) {
      spawn(shard.executor(), [&, peer, me]() -> Async<void> {
        for (int i = 0; i < kCallsEach; ++i) {
          const auto there = []() -> Async<int> {
            co_await yield_now();
            co_return 1;
          };
          answered[me] += co_await shard.mailbox().call_on(peer, there);
        }
        if (--left == 0) all_done.set();
      });
    }
    co_await all_done.wait();
  });
  uint64_t overflowed = 0;
  for (const ShardId id : {kA, kB}) overflowed += pool.on(id).mailbox().overflowed();
  pool.stop();
  EXPECT_EQ(answered[0], kCallers * kCallsEach);
  EXPECT_EQ(answered[1], kCallers * kCallsEach);
  EXPECT_GT(overflowed, 0u) << "the test was meant to fill a ring";
}

TEST(Mailbox, EveryShardCallsEveryOther) {
  constexpr uint32_t kShards = 5;
  const SystemClock clock;
  ShardPool pool(clock, {.shards = kShards, .seed = 1});
  pool.start();
  std::vector<uint32_t> sums(kShards);
  pool.run_on_all([&](Shard& shard) -> Async<void> {
    for (int round = 0; round < 50; ++round) {
      for (uint32_t to = 0; to < kShards; ++to) {
        const auto there = [to]() -> Async<uint32_t> { co_return to; };
        sums[shard.id().value()] += co_await shard.mailbox().call_on(ShardId(to), there);
      }
    }
  });
  pool.stop();
  for (const uint32_t sum : sums) EXPECT_EQ(sum, 50 * (kShards * (kShards - 1) / 2));
}

}  // namespace
}  // namespace cellar
