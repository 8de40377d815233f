// A whole node against the model of SEMANTICS 3 and 5: random rules, histories, clocks, flushes,
// compactions of any neighbours, crashes and restarts. Each history is played under two sets of
// options. A failing one is shortened and printed.
#include "tests/engine/retention/history.h"

#include <gtest/gtest.h>

#include "tests/support/seeds.h"

namespace cellar::support {
namespace {

constexpr size_t kSteps = 60;

void report(const History& failing, uint64_t options_seed) {
  const History shortest = shorten(failing, options_seed);
  std::string text;
  for (const History::Family& family : shortest.families) {
    text += fmt::format("family {}: {}, undo window {} us\n", family.name,
                        describe_rule(family.rule), family.undo_window_us);
  }
  for (size_t i = 0; i < shortest.steps.size(); ++i)
    text += fmt::format("{}  {}\n", i, to_text(shortest.steps[i]));
  ADD_FAILURE() << "seed " << failing.seed << " options " << options_seed << "\n"
                << text << play(shortest, options_seed).value_or("it passes now");
}

TEST(Histories, AnswersAreThoseOfTheModelWhateverIsMerged) {
  for (const uint64_t seed : test_seeds(150)) {
    const History history = random_history(seed, kSteps);
    for (const uint64_t options_seed : {2 * seed, 2 * seed + 1}) {
      if (!play(history, options_seed)) continue;
      report(history, options_seed);
      return;
    }
  }
}

}  // namespace
}  // namespace cellar::support
