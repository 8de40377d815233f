#include "io/base/histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/base/random.h"
#include "tests/support/seeds.h"

namespace cellar {
namespace {

// Values spread over all magnitudes up to the limit.
uint64_t draw(Random& random) {
  return static_cast<uint64_t>(std::exp(random.unit() * std::log(60e9)));
}

uint64_t nearest_rank(const std::vector<uint64_t>& sorted, double percent) {
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()) - 1e-6);
  return sorted[std::max<size_t>(1, static_cast<size_t>(rank)) - 1];
}

TEST(Histogram, PercentilesAgreeWithTheSortedValuesToThreeDigits) {
  for (const uint64_t seed : test_seeds(5)) {
    Random random(seed);
    Histogram histogram;
    std::vector<uint64_t> values;
    for (int i = 0; i < 20'000; ++i) {
      values.push_back(draw(random));
      histogram.record(values.back());
    }
    std::ranges::sort(values);
    for (const double p : {0.0, 1.0, 25.0, 50.0, 90.0, 99.0, 99.9, 99.99, 100.0}) {
      const auto exact = static_cast<double>(nearest_rank(values, p));
      const auto told = static_cast<double>(histogram.percentile(p));
      EXPECT_GE(told, exact) << "seed " << seed << " p" << p;
      EXPECT_LE(told, exact * 1.001 + 1e-9) << "seed " << seed << " p" << p;
    }
    EXPECT_EQ(histogram.min(), values.front());
    EXPECT_EQ(histogram.max(), values.back());
  }
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (uint64_t v = 0; v < 2'048; ++v) histogram.record(v);
  EXPECT_EQ(histogram.percentile(50), 1'023u);
  EXPECT_EQ(histogram.percentile(100), 2'047u);
  EXPECT_DOUBLE_EQ(histogram.mean(), 1023.5);
}

TEST(Histogram, EmptyOneAnswersZero) {
  const Histogram histogram;
  EXPECT_EQ(histogram.percentile(99), 0u);
  EXPECT_EQ(histogram.min(), 0u);
  EXPECT_EQ(histogram.max(), 0u);
  EXPECT_EQ(histogram.mean(), 0.0);
}

TEST(Histogram, ValuesBeyondTheLimitCountAsTheLimitButMaxIsTrue) {
  Histogram histogram;
  histogram.record(10);
  histogram.record(Histogram::kMaxValue * 5);
  EXPECT_EQ(histogram.percentile(100), Histogram::kMaxValue);
  EXPECT_EQ(histogram.max(), Histogram::kMaxValue * 5);
}

TEST(Histogram, MergedOnesEqualOneThatSawEverything) {
  Random random(11);
  Histogram a, b, both, none;
  for (int i = 0; i < 5'000; ++i) {
    const uint64_t v = draw(random);
    (i % 3 == 0 ? a : b).record(v);
    both.record(v);
  }
  a.merge(b);
  a.merge(none);
  EXPECT_EQ(a.count(), both.count());
  EXPECT_EQ(a.sum(), both.sum());
  EXPECT_EQ(a.min(), both.min());
  for (const double p : {10.0, 50.0, 99.0, 100.0}) EXPECT_EQ(a.percentile(p), both.percentile(p));
  none.merge(a);
  EXPECT_EQ(none.percentile(50), both.percentile(50));
}

TEST(Histogram, RecordingManyAtOnceEqualsRecordingThemSingly) {
  Histogram many, single;
  many.record(300, 4);
  for (int i = 0; i < 4; ++i) single.record(300);
  EXPECT_EQ(many.count(), single.count());
  EXPECT_EQ(many.sum(), single.sum());
  many.clear();
  EXPECT_EQ(many.count(), 0u);
}

}  // namespace
}  // namespace cellar
