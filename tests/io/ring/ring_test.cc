// Properties of the ring apart from files and streams, which have suites of their own.
#include "io/ring/ring.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <deque>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "io/loop/shard_loop.h"

namespace cellar {
namespace {

// Two connected sockets.
struct Ends {
  Ends() { EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds.data()), 0); }
  ~Ends() {
    for (const int fd : fds) ::close(fd);
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  void send(std::string_view text) const {
    ASSERT_EQ(::send(fds[1], text.data(), text.size(), 0), static_cast<ssize_t>(text.size()));
  }
  int mine() const { return fds[0]; }

  std::array<int, 2> fds = {};
};

struct Receive final : RingOp {
  explicit Receive(int from) : fd(from) {}
  void prepare(io_uring_sqe& sqe) override {
    io_uring_prep_recv(&sqe, fd, bytes.data(), bytes.size(), 0);
  }
  void done(int result) override {
    ++calls;
    last = result;
    if (then) then();
  }
  std::string text() const { return {bytes.data(), static_cast<size_t>(std::max(last, 0))}; }

  const int fd;
  std::array<char, 16> bytes = {};
  int calls = 0;
  int last = 0;
  std::function<void()> then;
};

class RingTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const int probed = probe_ring(); probed < 0) GTEST_SKIP() << "io_uring: error " << -probed;
    auto made = Ring::of(loop);
    ASSERT_TRUE(made) << made.error().to_string();
    ring = *std::move(made);
  }
  void turns(int count) {
    for (int i = 0; i < count; ++i) loop.turn(false);
  }
  void turn_until(const std::function<bool()>& condition) {
    for (int i = 0; i < 10'000 && !condition(); ++i) loop.turn(true);
    ASSERT_TRUE(condition());
  }

  ShardLoop loop;
  std::shared_ptr<Ring> ring;
};

TEST_F(RingTest, ALoopHasOneRingAsLongAsSomebodyHoldsIt) {
  EXPECT_EQ(*Ring::of(loop), ring);
  ShardLoop other;
  EXPECT_NE(*Ring::of(other), ring);
  const std::weak_ptr<Ring> first = ring;
  ring.reset();
  EXPECT_TRUE(first.expired());
  ASSERT_TRUE(Ring::of(loop));
}

TEST_F(RingTest, ACompletionIsToldOnceInALaterTurnAndTheOperationMayGoAgainFromThere) {
  const Ends ends;
  Receive receive(ends.mine());
  ends.send("ab");
  ring->submit(receive);
  ring->flush();
  EXPECT_EQ(receive.calls, 0) << "never inside submit() or flush()";
  EXPECT_FALSE(receive.idle());
  receive.then = [&] {
    EXPECT_TRUE(receive.idle());
    if (receive.calls == 1) ring->submit(receive);
  };
  turn_until([&] { return receive.calls == 1; });
  EXPECT_EQ(receive.text(), "ab");
  turns(5);
  EXPECT_EQ(receive.calls, 1);
  ends.send("c");
  turn_until([&] { return receive.calls == 2; });
  EXPECT_EQ(receive.text(), "c");
}

// As inside a handler of a socket. Sessions rely on it: what a frame starts is there for the next
// frame of the same receive, for example to be cancelled.
TEST_F(RingTest, WhatACompletionSpawnsRunsToItsFirstSuspensionAtOnce) {
  for (const bool sleeps : {false, true}) {
    const Ends ends;
    Receive receive(ends.mine());
    bool ran = false;
    bool at_once = false;
    receive.then = [&] {
      spawn(loop.executor(), [&]() -> Async<void> {
        ran = true;
        co_return;
      });
      at_once = ran;
    };
    ring->submit(receive);
    turns(3);
    std::thread peer([&] {
      if (sleeps) std::this_thread::sleep_for(std::chrono::milliseconds(20));
      ends.send("x");
    });
    turn_until([&] { return receive.calls == 1; });
    EXPECT_TRUE(at_once) << "sleeps: " << sleeps;
    peer.join();
  }
}

TEST_F(RingTest, ASleepingLoopIsWoken) {
  const Ends ends;
  Receive receive(ends.mine());
  ring->submit(receive);
  turns(3);
  std::thread peer([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    ends.send("x");
  });
  const uint64_t before = loop.turns();
  turn_until([&] { return receive.calls == 1; });
  EXPECT_LT(loop.turns() - before, 100u) << "it sleeps meanwhile";
  peer.join();
}

TEST_F(RingTest, MoreOperationsThanEntriesAndMoreCompletionsThanTheirQueue) {
  constexpr size_t kMany = 700;  // the completion queue has 512
  static_assert(kMany > 4 * Ring::kEntries);
  std::deque<Ends> ends(kMany / 4);
  std::deque<Receive> receives;
  size_t completed = 0;
  for (int round = 0; round < 4; ++round) {
    for (const Ends& one : ends) {
      Receive& receive = receives.emplace_back(one.mine());
      receive.then = [&completed] { ++completed; };
      ring->submit(receive);
    }
  }
  turns(5);
  EXPECT_EQ(completed, 0u);
  for (const Ends& one : ends) one.send("four");  // ends one or more receives of the four
  turns(5);
  for (const Ends& one : ends) ::shutdown(one.fds[1], SHUT_WR);  // and this the others
  turn_until([&] { return completed == receives.size(); });
  turns(5);
  for (const Receive& receive : receives) EXPECT_EQ(receive.calls, 1);
}

TEST_F(RingTest, WhatIsWithdrawnTakesNoBytesAndIsNotTold) {
  const Ends ends;
  Receive queued(ends.mine());
  ring->submit(queued);
  ring->withdraw(queued);
  EXPECT_TRUE(queued.idle());

  Receive waiting(ends.mine());
  ring->submit(waiting);
  turns(3);
  // The bytes are there before the cancellation, but the kernel has not received them yet.
  ends.send("kept");
  ring->withdraw(waiting);
  EXPECT_TRUE(waiting.idle());
  EXPECT_EQ(waiting.bytes[0], 0);
  turns(5);
  EXPECT_EQ(queued.calls + waiting.calls, 0);
  std::array<char, 8> left = {};
  EXPECT_EQ(::recv(ends.mine(), left.data(), left.size(), 0), 4);

  ring->withdraw(waiting);  // idle: nothing to do
  Receive again(ends.mine());
  ends.send("next");
  ring->submit(again);
  turn_until([&] { return again.calls == 1; });
  EXPECT_EQ(again.text(), "next");
}

TEST_F(RingTest, OthersThatCompleteDuringAWithdrawalAreToldInTheNextTurn) {
  const Ends silent;
  const Ends busy;
  Receive waiting(silent.mine());
  Receive other(busy.mine());
  Receive third(busy.mine());
  ring->submit(waiting);
  ring->submit(other);
  turns(3);
  busy.send("now");
  ring->withdraw(waiting);
  EXPECT_EQ(other.calls, 0) << "not inside withdraw()";
  turn_until([&] { return other.calls == 1; });
  EXPECT_EQ(other.text(), "now");
  // One that has completed during another's withdrawal can be withdrawn too.
  ring->submit(waiting);
  ring->submit(third);
  turns(3);
  busy.send("lost");
  ring->withdraw(waiting);
  ring->withdraw(third);
  EXPECT_TRUE(third.idle());
  turns(5);
  EXPECT_EQ(third.calls, 0);
}

// A handler withdraws another operation whose completion is in the same batch.
TEST_F(RingTest, AHandlerMayWithdrawWhatHasCompletedWithIt) {
  const Ends one;
  const Ends two;
  Receive first(one.mine());
  Receive second(two.mine());
  first.then = [&] { ring->withdraw(second); };
  second.then = [&] { ring->withdraw(first); };
  ring->submit(first);
  ring->submit(second);
  turns(3);
  one.send("1");
  two.send("2");
  turn_until([&] { return first.idle() && second.idle(); });
  turns(5);
  EXPECT_EQ(first.calls + second.calls, 1);
}

}  // namespace
}  // namespace cellar
