// The fixed seeds of the whole-node simulation, and those that have failed before.
#include "tests/simulation/simulation.h"

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "io/base/log.h"
#include "tests/support/seeds.h"

namespace cellar::simulation {
namespace {

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr uint64_t kSeeds = 16;
#else
constexpr uint64_t kSeeds = 64;
#endif
#else
constexpr uint64_t kSeeds = 64;
#endif

TEST(Simulation, FixedSeedsAreLinearizable) {
  set_log_level(LogLevel::off);
  uint64_t operations = 0, crashes = 0, undecided = 0, rows = 0;
  for (const uint64_t seed : test_seeds(kSeeds)) {
    const Result<Plan> plan = plan_from_environment(seed);
    ASSERT_TRUE(plan) << plan.error().message;
    const Outcome outcome = simulate(*plan);
    ASSERT_FALSE(outcome.problem) << "repeat: " << plan->environment() << "\n"
                                  << plan->described() << "\n"
                                  << *outcome.problem;
    operations += outcome.checked.operations;
    crashes += outcome.crashes;
    undecided += outcome.checked.undecided;
    rows += outcome.checked.rows;
  }
  RecordProperty("operations", static_cast<int64_t>(operations));
  if (std::getenv("CELLAR_SEED") != nullptr) return;
  EXPECT_GT(operations, kSeeds * 200);
  EXPECT_GT(crashes, kSeeds);
  EXPECT_LE(undecided * 50, rows) << "the search gave up too often";
}

// tests/simulation/kept_seeds: a line of options for each failure that was mended.
TEST(Simulation, SeedsThatHaveFailedPass) {
  set_log_level(LogLevel::off);
  std::ifstream file(CELLAR_SOURCE_DIR "/tests/simulation/kept_seeds");
  ASSERT_TRUE(file.is_open());
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const Result<Plan> plan = plan_from_options(line);
    ASSERT_TRUE(plan) << line << ": " << plan.error().message;
    const Outcome outcome = simulate(*plan);
    ASSERT_FALSE(outcome.problem) << "repeat: run_seeds " << line << "\n" << *outcome.problem;
  }
}

TEST(SimulationPlan, ItsOptionsRepeatIt) {
  Plan plan = Plan::of(77);
  plan.turn_off(Feature::power);
  plan.beats = 3;
  const Result<Plan> again = plan_from_options(plan.options());
  ASSERT_TRUE(again) << again.error().message;
  EXPECT_EQ(again->features, plan.features);
  EXPECT_EQ(again->beats, plan.beats);
  EXPECT_EQ(again->clients, plan.clients);
  EXPECT_FALSE(plan_from_options("--seed 1 --off nothing_of_that_name"));
}

TEST(SimulationPlan, ASeedPlaysTheSameEachTime) {
  const Outcome first = simulate(Plan::of(5));
  const Outcome second = simulate(Plan::of(5));
  EXPECT_EQ(first.simulated_us, second.simulated_us);
  EXPECT_EQ(first.answers, second.answers);
}

}  // namespace
}  // namespace cellar::simulation
