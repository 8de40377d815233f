#include "bench/load/distribution.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <vector>

namespace cellar::bench {
namespace {

double exact_zeta(uint64_t items, double theta) {
  double sum = 0;
  for (uint64_t i = items; i > 0; --i) sum += std::pow(static_cast<double>(i), -theta);
  return sum;
}

TEST(Zeta, IsTheSum) {
  for (uint64_t items : {1, 2, 100, 10'000, 10'001, 300'000})
    for (double theta : {0.5, 0.99})
      EXPECT_NEAR(zeta(items, theta) / exact_zeta(items, theta), 1, 1e-11) << items << " " << theta;
}

// ScrambledZipfianGenerator.ZETAN of YCSB, for 10^10 items and constant 0.99.
TEST(Zeta, IsYcsbsConstant) {
  EXPECT_NEAR(zeta(ScrambledZipfian::kItems, Zipfian::kTheta), 26.46902820178302, 1e-8);
}

// Utils.fnvhash64 of YCSB.
TEST(FnvHash, IsNotNegativeAndAsInYcsb) {
  EXPECT_EQ(fnv_hash(0), 6'284'781'860'667'377'211u);  // the key of its first record
  for (uint64_t i = 0; i < 1000; ++i) EXPECT_LT(fnv_hash(i), uint64_t{1} << 63);
}

// Counts of ranks against items / zeta / k^theta.
TEST(Zipfian, FollowsItsFormula) {
  constexpr uint64_t kItems = 1000;
  constexpr int kDraws = 2'000'000;
  const Zipfian zipfian(kItems);
  Random random(7);
  std::vector<double> counts(kItems);
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t rank = zipfian.draw(random);
    ASSERT_LT(rank, kItems);
    ++counts[rank];
  }
  const auto expected = [&](uint64_t first, uint64_t end) {
    double sum = 0;
    for (uint64_t i = first; i < end; ++i) sum += std::pow(static_cast<double>(i + 1), -0.99);
    return sum / zipfian.zeta_of_items() * kDraws;
  };
  const auto seen = [&](uint64_t first, uint64_t end) {
    double sum = 0;
    for (uint64_t i = first; i < end; ++i) sum += counts[i];
    return sum;
  };
  // The ranks 0 and 1 are exact; the tolerance is 4 standard deviations.
  for (uint64_t rank : {0, 1}) {
    const double want = expected(rank, rank + 1);
    EXPECT_NEAR(counts[rank], want, 4 * std::sqrt(want)) << rank;
  }
  // The approximation of the others has its own exact formula: a rank is below k with probability
  // 1 - (1 - (k / items)^(1 - theta)) / eta.
  const double eta = (1 - std::pow(2.0 / kItems, 0.01)) /
                     (1 - (1 + std::pow(0.5, 0.99)) / zipfian.zeta_of_items());
  const auto below = [&](uint64_t k) {
    return (1 - (1 - std::pow(static_cast<double>(k) / kItems, 0.01)) / eta) * kDraws;
  };
  for (auto [first, end] : {std::pair(2, 3), {2, 10}, {10, 100}, {100, 1000}}) {
    const double want = below(static_cast<uint64_t>(end)) - below(static_cast<uint64_t>(first));
    EXPECT_NEAR(seen(first, end), want, 4 * std::sqrt(want)) << first;
    EXPECT_NEAR(want / expected(first, end), 1, 0.2) << "far from the distribution: " << first;
  }
}

TEST(Zipfian, GrowsLikeALargerOne) {
  Zipfian grown(1000);
  grown.grow(1500);
  const Zipfian fresh(1500);
  EXPECT_NEAR(grown.zeta_of_items(), fresh.zeta_of_items(), 1e-9);
  Random a(3);
  Random b(3);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(grown.draw(a), fresh.draw(b));
}

TEST(Zipfian, OfOneOrTwoItems) {
  Random random(1);
  const Zipfian one(1);
  const Zipfian two(2);
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(one.draw(random), 0u);
    EXPECT_LT(two.draw(random), 2u);
  }
}

TEST(ScrambledZipfian, ItsHottestKeyHasTheShareOfRankZero) {
  const ScrambledZipfian zipfian;
  constexpr uint64_t kKeys = 10'000;
  constexpr int kDraws = 300'000;
  Random random(5);
  std::map<uint64_t, int> counts;
  for (int i = 0; i < kDraws; ++i) ++counts[zipfian.draw(random, kKeys)];
  // The key also has its part of the tail, which is spread over all keys.
  const double share = counts[fnv_hash(0) % kKeys] / double{kDraws};
  EXPECT_NEAR(share, 1 / 26.469, 0.002);
  EXPECT_GT(counts.size(), kKeys / 2) << "the tail covers the range";
}

TEST(Latest, PrefersTheNewestAndFollowsInserts) {
  Latest latest(1000);
  Random random(9);
  const auto share_of_newest = [&](uint64_t keys) {
    int hits = 0;
    for (int i = 0; i < 100'000; ++i) {
      const uint64_t key = latest.draw(random, keys);
      EXPECT_LT(key, keys);
      hits += key == keys - 1 ? 1 : 0;
    }
    return hits / 100'000.0;
  };
  EXPECT_NEAR(share_of_newest(1000), 1 / zeta(1000, 0.99), 0.005);
  EXPECT_NEAR(share_of_newest(1200), 1 / zeta(1200, 0.99), 0.005);
}

TEST(HotSpot, HasItsShares) {
  Random random(2);
  int hot = 0;
  constexpr int kDraws = 100'000;
  std::map<uint64_t, int> seen;
  for (int i = 0; i < kDraws; ++i) {
    const uint64_t key = draw_hot_spot(random, 1000, 0.1, 0.75);
    ASSERT_LT(key, 1000u);
    hot += key < 100 ? 1 : 0;
    ++seen[key];
  }
  EXPECT_NEAR(hot / double{kDraws}, 0.75, 0.01);
  EXPECT_EQ(seen.size(), 1000u);
  EXPECT_EQ(draw_hot_spot(random, 1, 0.2, 0.8), 0u);
}

}  // namespace
}  // namespace cellar::bench
