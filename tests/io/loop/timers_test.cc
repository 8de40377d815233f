// Both implementations of Timers under one suite, and the wheel compared with a sorted list.
#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "io/base/random.h"
#include "io/loop/wheel_timers.h"
#include "io/sim/manual_clock.h"
#include "io/sim/sim_loop.h"
#include "tests/support/seeds.h"

namespace cellar {
namespace {

class WheelBody {
 public:
  Timers& timers() { return wheel_; }
  void pass_us(int64_t us) { wheel_.advance(wheel_.now_us() + us); }

 private:
  WheelTimers wheel_;
};

class SimLoopBody {
 public:
  Timers& timers() { return timers_; }
  void pass_us(int64_t us) {
    clock_.advance_us(us);
    timers_.fire_due();
  }

 private:
  ManualClock clock_;
  SimTimers timers_{clock_};
};

template <class Body>
class TimersTest : public testing::Test {
 protected:
  struct Alarm {
    Alarm(TimersTest& t, int name_)
        : test(t), name(name_), timer(t.body_.timers(), &Alarm::ring, this) {}
    static void ring(void* self) {
      auto& alarm = *static_cast<Alarm*>(self);
      alarm.test.rung_.push_back(alarm.name);
      if (alarm.then) alarm.then();
    }
    TimersTest& test;
    int name;
    Timer timer;
    std::function<void()> then;
  };

  Body body_;
  std::vector<int> rung_;
};

using TimerBodies = testing::Types<WheelBody, SimLoopBody>;
TYPED_TEST_SUITE(TimersTest, TimerBodies);

TYPED_TEST(TimersTest, FireInOrderOfDeadlineAndNotBefore) {
  typename TestFixture::Alarm a(*this, 1), b(*this, 2), c(*this, 3);
  a.timer.arm_after_us(70'000);
  b.timer.arm_after_us(5'000);
  c.timer.arm_after_us(10'000'000);
  this->body_.pass_us(4'999);
  EXPECT_TRUE(this->rung_.empty());
  this->body_.pass_us(1);
  EXPECT_EQ(this->rung_, std::vector<int>({2}));
  this->body_.pass_us(100'000'000);
  EXPECT_EQ(this->rung_, std::vector<int>({2, 1, 3}));
  EXPECT_FALSE(a.timer.armed());
}

TYPED_TEST(TimersTest, FireAtMostOneTickLate) {
  for (const int64_t delay_us : {1, 999, 1'000, 1'001, 63'000, 64'000, 65'500, 4'096'000}) {
    typename TestFixture::Alarm a(*this, 1);
    this->rung_.clear();
    a.timer.arm_after_us(delay_us);
    this->body_.pass_us(delay_us + Timers::kTickUs);
    EXPECT_EQ(this->rung_.size(), 1u) << delay_us;
  }
}

TYPED_TEST(TimersTest, CancelledOrDestroyedNeverFire) {
  typename TestFixture::Alarm a(*this, 1);
  a.timer.arm_after_us(2'000);
  {
    typename TestFixture::Alarm b(*this, 2);
    b.timer.arm_after_us(2'000);
  }
  a.timer.cancel();
  a.timer.cancel();
  this->body_.pass_us(10'000);
  EXPECT_TRUE(this->rung_.empty());
}

TYPED_TEST(TimersTest, RearmingMovesTheDeadline) {
  typename TestFixture::Alarm a(*this, 1);
  a.timer.arm_after_us(2'000);
  a.timer.arm_after_us(50'000);
  this->body_.pass_us(40'000);
  EXPECT_TRUE(this->rung_.empty());
  a.timer.arm_after_us(1'000);
  this->body_.pass_us(2'000);
  EXPECT_EQ(this->rung_.size(), 1u);
  this->body_.pass_us(100'000);
  EXPECT_EQ(this->rung_.size(), 1u);
}

TYPED_TEST(TimersTest, CallbackMayRearmItselfAndCancelANeighbour) {
  typename TestFixture::Alarm a(*this, 1), b(*this, 2);
  a.then = [&] {
    b.timer.cancel();
    if (this->rung_.size() < 3) a.timer.arm_after_us(0);
  };
  a.timer.arm_after_us(1'000);
  b.timer.arm_after_us(1'000);
  for (int i = 0; i < 5; ++i) this->body_.pass_us(1'000);
  EXPECT_EQ(this->rung_, std::vector<int>({1, 1, 1}));
}

// One timer and its expected behaviour.
struct Tracked {
  Tracked(Timers& timers, int64_t& clock_us) : now(clock_us), timer(timers, &Tracked::fire, this) {}
  static void fire(void* self) {
    auto& t = *static_cast<Tracked*>(self);
    t.fired_at = t.now;
  }
  int64_t& now;
  int64_t due_us = -1;
  int64_t fired_at = -1;
  Timer timer;
};

TEST(WheelTimers, RandomArmsCancelsAndLeapsAgreeWithASortedList) {
  for (const uint64_t seed : test_seeds(20)) {
    Random random(seed);
    WheelTimers wheel;
    int64_t now = static_cast<int64_t>(random.below(1'000'000'000'000));
    wheel.advance(now);
    std::deque<Tracked> all;
    for (int i = 0; i < 200; ++i) all.emplace_back(wheel, now);
    for (int step = 0; step < 2'000; ++step) {
      Tracked& t = all[random.below(all.size())];
      const auto span = static_cast<int64_t>(uint64_t{1} << random.below(36));
      if (random.one_in(4)) {
        t.timer.cancel();
        t.due_us = -1;
      } else if (random.one_in(2)) {
        t.fired_at = -1;
        t.due_us = now + static_cast<int64_t>(random.below(static_cast<uint64_t>(span)));
        wheel.arm(t.timer, t.due_us);
      } else {
        ASSERT_GE(wheel.next_due_us(), now / 1'000 * 1'000) << "seed " << seed;
        now += static_cast<int64_t>(random.below(static_cast<uint64_t>(span) / 8 + 1));
        wheel.advance(now);
      }
      for (Tracked& x : all) {
        if (x.due_us < 0) continue;
        if (x.due_us + 2 * Timers::kTickUs <= now) {
          ASSERT_GE(x.fired_at, x.due_us) << "seed " << seed << " step " << step;
        }
        if (now < x.due_us) {
          ASSERT_TRUE(x.timer.armed()) << "seed " << seed << " step " << step;
        }
      }
    }
    for (Tracked& x : all) x.timer.cancel();
    EXPECT_EQ(wheel.armed(), 0u);
    EXPECT_EQ(wheel.next_due_us(), WheelTimers::kNever);
  }
}

TEST(WheelTimers, NextDueIsNeverLaterThanTheEarliestTimer) {
  Random random(5);
  WheelTimers wheel;
  int64_t now = 0;
  for (int i = 0; i < 500; ++i) {
    now += static_cast<int64_t>(random.below(100'000));
    wheel.advance(now);
    int64_t unused = 0;
    Tracked t(wheel, unused);
    const int64_t due = now + static_cast<int64_t>(random.below(uint64_t{1} << random.below(40)));
    wheel.arm(t.timer, due);
    const int64_t next = wheel.next_due_us();
    EXPECT_GT(next, now);
    EXPECT_LE(next, due + Timers::kTickUs);
    wheel.advance(next - 1);
    EXPECT_TRUE(t.timer.armed());
    now = std::max(now, next - 1);
  }
}

TEST(WheelTimers, WaitingCostsAFewWakeUpsHoweverFarTheDeadline) {
  WheelTimers wheel;
  int64_t clock = 12'345'678;
  wheel.advance(clock);
  Tracked t(wheel, clock);
  const int64_t due = clock + int64_t{86'400} * 30 * 1'000'000;
  wheel.arm(t.timer, due);
  int wakes = 0;
  while (t.timer.armed()) {
    clock = wheel.next_due_us();
    wheel.advance(clock);
    ++wakes;
  }
  EXPECT_LE(wakes, 7);
  EXPECT_GE(clock, due);
}

}  // namespace
}  // namespace cellar
