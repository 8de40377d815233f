// A whole node compared with the model of SEMANTICS 2 to 6: random schemas, rules, histories,
// clocks, flushes, compactions of any neighbours, reshapes, crashes and restarts. Each history is
// played under two sets of options, and both must give the answers of the model. A failing history
// is shortened and printed as a script.
//
// A million operations in CI, in lanes that may run in parallel, and some more with steps of the
// machine's clocks (judged_time.h). CELLAR_SEED=n plays that history alone; CELLAR_ROUNDS=n plays n
// times as many.
#include "tests/engine/retention/history.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

#include "io/base/log.h"
#include "tests/support/seeds.h"

namespace cellar::support {
namespace {

constexpr size_t kSteps = 400;
constexpr uint64_t kLanes = 8;
#ifdef CELLAR_SANITIZED
constexpr uint64_t kSeedsOfALane = 31;  // they take three times as long
constexpr uint64_t kClockSeedsOfALane = 8;
#else
constexpr uint64_t kSeedsOfALane = 125;
constexpr uint64_t kClockSeedsOfALane = 30;
#endif
constexpr uint64_t kClockLanes = 2;
constexpr size_t kHistoriesThatShow = 50;  // fewer may happen to ask for little

void report(const History& failing, uint64_t options_seed) {
  const History shortest = shorten(failing, options_seed);
  ADD_FAILURE() << "seed " << failing.seed << " (CELLAR_SEED), options " << options_seed << ": "
                << options_text(failing, options_seed) << "\n"
                << to_text(shortest) << play(shortest, options_seed).value_or("it passes now");
}

// Most of what the histories of a lane ask for is compared and done: otherwise they pass without
// showing anything.
void expect_done(const Played& sum, size_t histories) {
  EXPECT_GE(sum.reads.done, 10 * histories);
  EXPECT_GE(sum.explained.done, histories);
  EXPECT_GE(sum.previews.done, histories / 2);
  for (const Played::Share& share :
       {sum.explained, sum.previews, sum.splits, sum.merges, sum.moves}) {
    EXPECT_GT(share.done, 0u);
    EXPECT_GE(share.done * 3, share.asked);
  }
}

class Histories : public testing::TestWithParam<uint64_t> {
 protected:
  void SetUp() override { set_log_level(LogLevel::error); }

  void play_lane(History (*make)(uint64_t, size_t), uint64_t lanes, uint64_t seeds_of_a_lane) {
    const bool chosen = std::getenv("CELLAR_SEED") != nullptr;
    if (chosen && GetParam() != 0) GTEST_SKIP() << "the seed asked for is lane 0's";
    size_t histories = 0;
    size_t operations = 0;
    Played sum;
    for (const uint64_t n : test_seeds(seeds_of_a_lane)) {
      const uint64_t seed = chosen ? n : n * lanes + GetParam();
      const History history = make(seed, kSteps);
      for (const uint64_t options_seed : {2 * seed, 2 * seed + 1}) {
        ++histories;
        operations += history.operations();
        Played played;
        if (!play(history, options_seed, &played)) {
          sum.add(played);
          EXPECT_GE(played.reads.done * 10, played.reads.asked * 9)
              << "seed " << seed << ", options " << options_seed << ": " << played.to_text();
          continue;
        }
        report(history, options_seed);
        std::cout << "failed in history " << histories << ", after " << operations
                  << " operations\n";
        return;
      }
    }
    std::cout << histories << " histories played, " << operations << " operations; "
              << sum.to_text() << "\n";
    if (histories >= kHistoriesThatShow) expect_done(sum, histories);
  }
};

TEST_P(Histories, AnswersAreThoseOfTheModelWhateverIsMerged) {
  play_lane(random_history, kLanes, kSeedsOfALane);
}

// Wall clocks that step, kernels that vouch for them or not, anchors that permit little, reboots,
// and moves of tablets between shards whose clocks differ: a dead cell is never read again, and no
// cell dies early.
class ClockHistories : public Histories {};
TEST_P(ClockHistories, NothingDeadIsReadAndNothingDiesEarly) {
  play_lane(random_clock_history, kClockLanes, kClockSeedsOfALane);
}

INSTANTIATE_TEST_SUITE_P(Lanes, Histories, testing::Range<uint64_t>(0, kLanes));
INSTANTIATE_TEST_SUITE_P(Lanes, ClockHistories, testing::Range<uint64_t>(0, kClockLanes));

}  // namespace
}  // namespace cellar::support
