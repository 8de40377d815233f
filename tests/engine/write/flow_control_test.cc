// Writers are slowed before any bound is reached: their rates, who waits, and that the writers
// never stop. On simulated time, without a node (flow_node_test.cc has one).
#include "engine/write/flow_control.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>

#include "engine/engine.h"
#include "io/sim/sim_loop.h"

namespace cellar::engine {
namespace {

constexpr size_t kCommitBytes = 1000;
constexpr double kDrain = 20e6;

// A tablet whose clients keep this many commits in flight.
struct Clients {
  Clients(FlowControl& flow, size_t in_flight, size_t commit_bytes = kCommitBytes) : writers(flow) {
    for (int i = 0; i < 2000; ++i) writers.note_commit(commit_bytes);
    for (size_t i = 0; i < in_flight; ++i) {
      Write& write = writes.emplace_back();
      write.context = this;
      write.done = [](Write& done) {
        auto& self = *static_cast<Clients*>(done.context);
        ++self.answered;
        self.free.push_back(&done);
      };
      free.push_back(&write);
    }
  }
  void commit_all() {
    for (Write* write : std::exchange(free, {})) writers.answer(*write);
  }
  std::deque<Write> writes;
  std::vector<Write*> free;
  uint64_t answered = 0;
  FlowControl::Writers writers;
};

struct FlowTest : testing::Test {
  FlowTest() {
    flow.watch([this] { return levels; });
    for (int i = 0; i < 100; ++i) flow.flushed(static_cast<uint64_t>(kDrain), 1'000'000);
    levels.memtable_bound = levels.log_pending_bound = 1000;
  }
  ~FlowTest() override { world.crash(); }
  // Bytes a second of clients that commit as much as they can, every millisecond.
  double rate_of(Clients& clients, int64_t for_us = 1'000'000) {
    const uint64_t before = clients.answered;
    for (int64_t us = 0; us < for_us; us += 1000) {
      clients.commit_all();
      world.run_for_us(1000);
    }
    return static_cast<double>((clients.answered - before) * kCommitBytes) * 1e6 /
           static_cast<double>(for_us);
  }

  // Bytes a second of clients that commit again as soon as they are answered.
  double closed_rate_of(Clients& clients, int64_t for_us = 1'000'000) {
    constexpr int64_t kStepUs = 100;
    const uint64_t before = clients.answered;
    for (int64_t us = 0; us < for_us; us += kStepUs) {
      while (!clients.free.empty()) clients.commit_all();
      world.run_for_us(kStepUs);
    }
    return static_cast<double>((clients.answered - before) * kCommitBytes) * 1e6 /
           static_cast<double>(for_us);
  }

  SimWorld world{1};
  SimLoop& loop{world.add_loop()};
  FlowLevels levels;
  FlowControl flow{loop.timers()};
};

// A flush of a few bytes takes the time of its syncs.
TEST_F(FlowTest, SmallFlushesSayLittleAboutTheDrain) {
  levels.memtable_bound = 64u << 20;
  levels.full_memtable_bytes = 8u << 20;
  Clients clients(flow, 100);
  levels.memtable_bytes = levels.memtable_bound * 3 / 4;
  const double before = rate_of(clients);
  for (int i = 0; i < 10; ++i) flow.flushed(4096, 20'000);
  EXPECT_NEAR(rate_of(clients) / before, 1.0, 0.1);
  // Those of full memtables count.
  for (int i = 0; i < 20; ++i) flow.flushed(8u << 20, 1'000'000);
  EXPECT_LT(rate_of(clients), before / 2);
}

TEST_F(FlowTest, UpToHalfOfABoundEveryCommitIsAnsweredInTheCall) {
  Clients clients(flow, 100);
  levels.memtable_bytes = levels.log_pending_bytes = 500;
  clients.writers.set_runs_behind(FlowControl::kFreeRuns);
  clients.commit_all();
  EXPECT_EQ(clients.answered, 100u);
  EXPECT_FALSE(flow.slow());
}

TEST_F(FlowTest, TheFullerTheSlowerAndAtThreeQuartersAsFastAsItDrains) {
  Clients clients(flow, 1'000);
  double last = 1e12;
  for (const uint64_t level : {550u, 600u, 650u, 700u, 750u, 800u, 850u, 900u, 950u, 990u}) {
    levels.memtable_bytes = level;
    (void)rate_of(clients, 100'000);
    const double rate = rate_of(clients);
    const double p = flow_pressure(level, 1000);
    EXPECT_LT(rate, last) << level;
    EXPECT_NEAR(rate / std::max(kDrain * (1 - p) / p, FlowControl::kLeastRate), 1, 0.1) << level;
    last = rate;
  }
  EXPECT_NEAR(flow_rate(kDrain, flow_pressure(750, 1000)), kDrain, 1);
}

TEST_F(FlowTest, WhatIsFullSlowsButDoesNotStop) {
  Clients clients(flow, 100);
  levels.memtable_bytes = 5000;
  EXPECT_GE(rate_of(clients), 0.9 * FlowControl::kLeastRate);
}

TEST_F(FlowTest, AnswersComeEvenly) {
  Clients clients(flow, 1'000);
  levels.memtable_bytes = 750;
  (void)rate_of(clients, 100'000);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NEAR(rate_of(clients, 10'000) / kDrain, 1, 0.2) << i;
  }
}

TEST_F(FlowTest, ATabletThatAsksForLittleDoesNotWaitForOneThatAsksForMuch) {
  Clients heavy(flow, 1'000);
  Clients light(flow, 1);
  levels.memtable_bytes = 750;
  (void)rate_of(heavy, 100'000);
  for (int i = 0; i < 200; ++i) {
    heavy.commit_all();
    light.commit_all();
    EXPECT_EQ(light.answered, static_cast<uint64_t>(i) + 1);
    world.run_for_us(1000);
  }
  EXPECT_GT(heavy.writers.waits(), 0);
}

// A large commit is more than its tablet's part: it waits, and leaves no debt to small ones.
TEST_F(FlowTest, ATabletOfFewLargeCommitsDoesNotSpendTheReserveOfTheOthers) {
  Clients large(flow, 1, 100'000);
  Clients light(flow, 1);
  levels.memtable_bytes = 900;  // a quarter of the drain: 5,000 bytes in a millisecond
  light.commit_all();
  large.commit_all();
  world.run_for_us(1'000);
  for (int i = 0; i < 400; ++i) {
    large.commit_all();
    light.commit_all();
    ASSERT_EQ(light.answered, static_cast<uint64_t>(i) + 2);
    world.run_for_us(1000);
  }
  EXPECT_NEAR(static_cast<double>(large.answered) * 100, 5'000 * 0.4 - 400, 400);
}

// Each asks for less than its share; together they ask for five times the drain rate.
TEST_F(FlowTest, ManyTabletsThatAskForLittleAreHeldToTheRateTogether) {
  std::deque<Clients> tablets;
  for (int i = 0; i < 100; ++i) tablets.emplace_back(flow, 1);
  levels.memtable_bytes = 750;
  const auto answers_of = [&](int64_t for_us) {
    uint64_t before = 0;
    uint64_t after = 0;
    for (const Clients& tablet : tablets) before += tablet.answered;
    for (int64_t us = 0; us < for_us; us += 1000) {
      for (Clients& tablet : tablets) tablet.commit_all();
      world.run_for_us(1000);
    }
    for (const Clients& tablet : tablets) after += tablet.answered;
    return static_cast<double>(after - before);
  };
  (void)answers_of(100'000);
  EXPECT_NEAR(answers_of(1'000'000) * kCommitBytes / kDrain, 1, 0.15);
}

TEST_F(FlowTest, ThoseThatAskForMuchGetTheSame) {
  Clients first(flow, 5'000);
  Clients second(flow, 50);
  levels.memtable_bytes = 750;
  for (int i = 0; i < 1000; ++i) {
    first.commit_all();
    second.commit_all();
    world.run_for_us(1000);
  }
  EXPECT_NEAR(static_cast<double>(first.answered) / static_cast<double>(second.answered), 1, 0.6);
  EXPECT_NEAR(static_cast<double>((first.answered + second.answered) * kCommitBytes) / kDrain, 1,
              0.35);
}

TEST_F(FlowTest, RunsThatMergingIsBehindWithSlowTheirTabletAlone) {
  Clients behind(flow, 1'000);
  Clients other(flow, 1'000);
  behind.writers.set_runs_behind((FlowControl::kFreeRuns + FlowControl::kMostRuns) / 2);
  const double slowed = rate_of(behind);
  EXPECT_NEAR(slowed / kDrain, 1, 0.1);
  const uint64_t before = other.answered;
  other.commit_all();
  EXPECT_EQ(other.answered, before + 1'000);
  behind.writers.set_runs_behind(0);
  behind.commit_all();
  world.run_for_us(2'000);
  EXPECT_FALSE(behind.writers.waits());
  EXPECT_FALSE(flow.slow());
}

// A few clients that commit again as soon as they are answered: the rate limits them, and not their
// number per tick.
TEST_F(FlowTest, ATabletThatMergingIsBehindWithSpendsItsRateAsItComes) {
  Clients behind(flow, 4);
  behind.writers.set_runs_behind((FlowControl::kFreeRuns + FlowControl::kMostRuns) / 2);
  (void)closed_rate_of(behind, 100'000);
  EXPECT_NEAR(closed_rate_of(behind) / kDrain, 1, 0.1);
  for (int i = 0; i < 100; ++i) {
    EXPECT_NEAR(closed_rate_of(behind, 10'000) / kDrain, 1, 0.2) << i;
  }
  behind.writers.set_runs_behind(10 * FlowControl::kMostRuns);
  (void)closed_rate_of(behind, 100'000);
  EXPECT_NEAR(closed_rate_of(behind) / (kDrain * FlowControl::kLeastOfDrain), 1, 0.1);
}

TEST_F(FlowTest, ATabletThatIsHeldAfterItWasFreeHasNothingSavedUp) {
  Clients clients(flow, 100'000);
  for (int i = 0; i < 3; ++i) {
    clients.writers.set_runs_behind(0);
    world.run_for_us(2'000);
    clients.commit_all();
    world.run_for_us(5'000'000);
    EXPECT_FALSE(clients.writers.waits());
    clients.writers.set_runs_behind((FlowControl::kFreeRuns + FlowControl::kMostRuns) / 2);
    clients.answered = 0;
    clients.commit_all();
    world.run_for_us(1'000);
    const double most_us = FlowControl::kMostCreditUs + 2 * Timers::kTickUs;
    EXPECT_LE(static_cast<double>(clients.answered * kCommitBytes), kDrain * most_us / 1e6);
  }
}

// Its own rate is a quarter of the drain rate here; the rate of the shard is all of it.
TEST_F(FlowTest, ATabletThatMergingIsBehindWithTakesNoMoreThanItsRateOfTheShards) {
  Clients behind(flow, 50);
  Clients heavy(flow, 1'000);
  Clients light(flow, 1);
  constexpr double kPressure = 0.8;
  constexpr double kRange = FlowControl::kMostRuns - FlowControl::kFreeRuns;
  behind.writers.set_runs_behind(FlowControl::kFreeRuns +
                                 static_cast<size_t>(kPressure * kRange + 0.5));
  levels.memtable_bytes = 750;
  for (int ms = 0; ms < 1'100; ++ms) {
    if (ms == 100) behind.answered = heavy.answered = light.answered = 0;
    behind.commit_all();
    heavy.commit_all();
    light.commit_all();
    world.run_for_us(1000);
  }
  const auto got = [](const Clients& of) {
    return static_cast<double>(of.answered * kCommitBytes) / kDrain;
  };
  EXPECT_EQ(light.answered, 1'000u);
  EXPECT_NEAR(got(behind), (1 - kPressure) / kPressure, 0.03);
  EXPECT_NEAR(got(behind) + got(heavy) + got(light), 1, 0.1);
}

TEST_F(FlowTest, HoweverFarMergingIsBehindItsWritersGoOn) {
  Clients behind(flow, 1'000);
  behind.writers.set_runs_behind(10 * FlowControl::kMostRuns);
  (void)rate_of(behind, 100'000);
  EXPECT_NEAR(rate_of(behind) / (kDrain * FlowControl::kLeastOfDrain), 1, 0.1);
}

TEST_F(FlowTest, ALogThatDrainsSlowlySlowsTheWriters) {
  Clients clients(flow, 1'000);
  levels.log_pending_bytes = 750;
  double seconds = 0;
  for (int i = 0; i < 2000; ++i, seconds += 0.001) {
    levels.log_durable_end += 5'000;  // 5 MB/s
    clients.commit_all();
    world.run_for_us(1000);
    if (i == 999) clients.answered = 0;
  }
  EXPECT_NEAR(static_cast<double>(clients.answered * kCommitBytes) / 5e6, 1, 0.1);
}

// A log, as flow control sees it, with clients that keep this many commits in flight.
struct LogUnderClients {
  static constexpr uint64_t kBound = 16u << 20;
  static constexpr uint64_t kDrainsPerMs = 400'000;

  // A millisecond: every answered client commits again, and the log drains what it can.
  void step(FlowLevels& levels, Clients& clients, SimWorld& world, bool drains) {
    appended += clients.free.size() * kCommitBytes;
    clients.commit_all();
    if (drains) durable += std::min(kDrainsPerMs, appended - durable);
    levels.log_durable_end = durable;
    levels.log_pending_bytes = appended - durable;
    most_pending = std::max(most_pending, levels.log_pending_bytes);
    world.run_for_us(1000);
  }
  uint64_t appended = 0;
  uint64_t durable = 0;
  uint64_t most_pending = 0;
};

// It drained fast, so its estimated rate would allow its bound to be filled at once.
TEST_F(FlowTest, ALogThatStandsStillAfterDrainingFastIsNotFilled) {
  Clients clients(flow, 1'000);
  LogUnderClients log;
  levels.log_pending_bound = LogUnderClients::kBound;
  for (int ms = 0; ms < 2'000; ++ms) log.step(levels, clients, world, true);
  EXPECT_GT(levels.log_pending_bytes, LogUnderClients::kBound / 2) << "it is not the bottleneck";
  for (const int stands_ms : {100, 1'000, 10'000}) {
    for (int ms = 0; ms < stands_ms; ++ms) log.step(levels, clients, world, false);
    EXPECT_LT(log.most_pending, LogUnderClients::kBound) << stands_ms;
    const uint64_t before = log.durable;
    for (int ms = 0; ms < 1'000; ++ms) log.step(levels, clients, world, true);
    EXPECT_GT(log.durable - before, 1'000 * LogUnderClients::kDrainsPerMs * 9 / 10)
        << "it is used again at once";
  }
}

TEST_F(FlowTest, ALogThatMovesSlowlyIsNotTakenForOneThatStands) {
  Clients clients(flow, 1'000);
  levels.log_pending_bytes = 750;
  for (int i = 0; i < 400; ++i) {
    levels.log_durable_end += 50'000;  // every 10 ms: 5 MB/s
    for (int ms = 0; ms < 10; ++ms) {
      clients.commit_all();
      world.run_for_us(1000);
    }
    if (i == 199) clients.answered = 0;
  }
  EXPECT_NEAR(static_cast<double>(clients.answered * kCommitBytes) / 2 / 5e6, 1, 0.2);
}

TEST_F(FlowTest, WhenThePressureIsGoneEverybodyIsAnsweredAndATabletThatGoesLeavesNobodyWaiting) {
  Clients clients(flow, 100);
  auto gone = std::make_unique<Clients>(flow, 0);
  std::array<Write, 3> left;
  size_t left_answered = 0;
  for (Write& write : left) {
    write.context = &left_answered;
    write.done = [](Write& done) { ++*static_cast<size_t*>(done.context); };
  }
  levels.memtable_bytes = 1000;
  clients.commit_all();
  world.run_for_us(3'000);
  clients.commit_all();
  for (Write& write : left) gone->writers.answer(write);
  EXPECT_TRUE(gone->writers.waits());
  gone.reset();
  world.run_for_us(1'000);
  EXPECT_EQ(left_answered, left.size());
  EXPECT_TRUE(clients.writers.waits());
  levels.memtable_bytes = 0;
  world.run_for_us(1'000);
  EXPECT_FALSE(clients.writers.waits());
  EXPECT_FALSE(flow.slow());
}

}  // namespace
}  // namespace cellar::engine
