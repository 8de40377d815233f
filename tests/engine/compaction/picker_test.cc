// Which runs are merged: by table, and simulated over long sequences of flushes.
#include "engine/compaction/picker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <vector>

#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar::engine {
namespace {

using Sizes = std::vector<uint64_t>;

TEST(Picker, NothingIsDueWhileRunsAreFew) {
  EXPECT_FALSE(pick_merge(Sizes{}));
  EXPECT_FALSE(pick_merge(Sizes{1}));
  EXPECT_FALSE(pick_merge(Sizes(kBaseRuns, 64)));
}

TEST(Picker, TheListOfWindows) {
  struct Case {
    const char* what;
    Sizes sizes;
    size_t first;
    size_t count;
  };
  const Case cases[] = {
      {"equal runs are all merged", Sizes(12, 64), 0, 12},
      {"a large old run is left alone",
       {65536, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64},
       1,
       13},
      {"small runs in the middle are merged, not over the large ones beside them",
       {4096, 1024, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1024, 4096, 4096, 4096},
       2,
       10},
      {"the example of the header", {4096, 600, 580, 70, 66, 64, 64, 64, 64, 64, 64, 64}, 3, 9},
      {"empty runs cost nothing and go first",
       {64, 64, 64, 64, 0, 0, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64, 64},
       4,
       2},
  };
  for (const Case& c : cases) {
    const auto window = pick_merge(c.sizes);
    ASSERT_TRUE(window) << c.what;
    EXPECT_EQ(window->first, c.first) << c.what;
    EXPECT_EQ(window->count, c.count) << c.what;
  }
}

TEST(Picker, LargeBlocksAllowFewRunsAndNarrowMerges) {
  EXPECT_EQ(width_within(32u << 20, 10u << 20), 3u);
  EXPECT_EQ(width_within(32u << 20, 100u << 20), kLeastWidth);
  EXPECT_EQ(width_within(32u << 20, 4u << 20), 8u);
  EXPECT_EQ(width_within(32u << 20, 0), 32u << 20);
  EXPECT_FALSE(pick_merge(Sizes{10, 10, 10, 10}, 3));
  for (size_t runs = 5; runs < 20; ++runs) {
    const auto window = pick_merge(Sizes(runs, 10), 3);
    ASSERT_TRUE(window) << runs;
    EXPECT_EQ(window->count, 3u) << runs;
  }
}

struct Picks {
  double write_amplification;
  size_t most_runs;
};

template <class Next>
Picks simulate_picks(size_t flushes, Next next_bytes) {
  Sizes runs;
  uint64_t flushed = 0;
  uint64_t written = 0;
  size_t most = 0;
  for (size_t i = 0; i < flushes; ++i) {
    runs.push_back(next_bytes(i));
    flushed += runs.back();
    written += runs.back();
    while (const auto window = pick_merge(runs)) {
      const auto begin = runs.begin() + static_cast<ptrdiff_t>(window->first);
      const auto end = begin + static_cast<ptrdiff_t>(window->count);
      const uint64_t merged = std::accumulate(begin, end, uint64_t{0});
      written += merged;
      *begin = merged;
      runs.erase(begin + 1, end);
    }
    EXPECT_LE(runs.size(), allowed_runs(runs));
    most = std::max(most, runs.size());
  }
  return {static_cast<double>(written) / static_cast<double>(flushed), most};
}

TEST(Picker, TenThousandFlushesWriteEachByteAFewTimesAndLeaveFewRuns) {
  Random random(11);
  const Picks equal = simulate_picks(10'000, [](size_t) { return 64u; });
  const Picks mixed = simulate_picks(10'000, [&](size_t) { return 1 + random.below(128); });
  const Picks skewed = simulate_picks(10'000, [&](size_t) { return random.one_in(5) ? 1u : 500u; });
  const Picks growing = simulate_picks(10'000, [](size_t i) { return 1 + i; });
  const Picks shrinking = simulate_picks(10'000, [](size_t i) { return 10'001 - i; });
  for (const Picks& outcome : {equal, mixed, skewed, growing, shrinking}) {
    EXPECT_LE(outcome.write_amplification, 8.0);
    EXPECT_LE(outcome.most_runs, kMaxRuns);
  }
}

TEST(Picker, AnySequenceOfSizesStaysWithinTheBoundOnRuns) {
  for (const uint64_t seed : test_seeds(200)) {
    Random random(seed);
    const Picks outcome =
        simulate_picks(300, [&](size_t) { return random.next() >> (4 + random.below(60)); });
    EXPECT_LE(outcome.most_runs, kMaxRuns) << "seed " << seed;
  }
}

}  // namespace
}  // namespace cellar::engine
