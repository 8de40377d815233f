// DeathCurve: the totals of a curve match its spans.
#include "engine/retention/death_curve.h"

#include <gtest/gtest.h>

#include <cmath>

#include "io/base/random.h"

namespace cellar::engine {
namespace {

constexpr int64_t kDayUs = 86'400'000'000;
constexpr int64_t kNowUs = 20'000 * kDayUs;

TEST(DeathCurve, NoSpansNoDeaths) {
  const DeathCurve curve;
  EXPECT_EQ(curve.about_dead(kNowUs), 0);
  EXPECT_EQ(curve.first_us(), INT64_MAX);
}

TEST(DeathCurve, SaysWhatTheSpansSay) {
  Random random(5);
  for (int play = 0; play < 50; ++play) {
    std::vector<DeathSpan> spans;
    double all = 0;
    for (size_t i = 0; i < 300; ++i) {
      DeathSpan span;
      span.from_us = kNowUs + static_cast<int64_t>(random.below(100 * kDayUs));
      const uint64_t most[] = {1, 5'000'000, 10 * kDayUs, 4'000 * kDayUs};
      span.to_us = span.from_us + static_cast<int64_t>(random.below(most[random.below(4)]));
      span.bytes = static_cast<double>(1 + random.below(1u << 30));
      all += span.bytes;
      spans.push_back(span);
    }
    const DeathCurve curve(spans);
    EXPECT_EQ(curve.first_us(), first_death_us(spans));
    EXPECT_EQ(curve.about_dead(curve.first_us() - 1), 0);
    EXPECT_DOUBLE_EQ(curve.about_dead(curve.last_us()), all);
    double before = 0;
    for (int64_t day = 0; day < 4'200; day += 7) {
      const int64_t at_us = kNowUs + day * kDayUs;
      const double dead = curve.about_dead(at_us);
      EXPECT_NEAR(dead, about_dead(spans, at_us), 2 + 1e-9 * all) << day;
      EXPECT_GE(dead + 1, before);
      before = dead;
    }
  }
}

// A table whose deletes killed everything at once, and one that dies over years.
TEST(DeathCurve, ShortSpansBesideLongOnesAreExact) {
  const std::vector<DeathSpan> spans{{kNowUs, kNowUs, 1e12},
                                     {kNowUs - 3'000 * kDayUs, kNowUs + 3'000 * kDayUs, 6'000}};
  const DeathCurve curve(spans);
  EXPECT_NEAR(curve.about_dead(kNowUs - 1), 3'000, 1);
  EXPECT_NEAR(curve.about_dead(kNowUs), 1e12 + 3'000, 1);
  EXPECT_EQ(curve.about_dead(kNowUs + 3'000 * kDayUs), 1e12 + 6'000);
}

// Spans that end in another order than they start: the two sums of the same fractions differ in
// their last bits, and a span without bytes has not ended.
TEST(DeathCurve, FractionsOfBytesAddUpInAnyOrder) {
  Random random(7);
  for (int play = 0; play < 2'000; ++play) {
    std::vector<DeathSpan> spans{{kNowUs, kNowUs + 10 * kDayUs, 0}};
    double all = 0;
    for (int64_t i = 0; i < 5; ++i) {
      const double bytes = std::ldexp(static_cast<double>(1 + random.below(100)) / 3,
                                      static_cast<int>(random.below(60)) - 30);
      spans.push_back({kNowUs + i * 1'000'000, kNowUs + kDayUs - i * 1'000'000, bytes});
      all += bytes;
    }
    EXPECT_DOUBLE_EQ(DeathCurve(spans).about_dead(kNowUs + 2 * kDayUs), all);
  }
}

}  // namespace
}  // namespace cellar::engine
