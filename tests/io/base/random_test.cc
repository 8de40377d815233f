#include "io/base/random.h"

#include <gtest/gtest.h>

#include <array>

namespace cellar {
namespace {

TEST(Random, SameSeedGivesTheSameNumbers) {
  Random a(42), b(42), c(43);
  bool differs = false;
  for (int i = 0; i < 100; ++i) {
    const uint64_t n = a.next();
    EXPECT_EQ(n, b.next());
    if (n != c.next()) differs = true;
  }
  EXPECT_TRUE(differs);
}

TEST(Random, BelowStaysBelowAndReachesEveryValueAboutEquallyOften) {
  Random random(9);
  std::array<int, 10> seen{};
  for (int i = 0; i < 100'000; ++i) ++seen.at(random.below(10));
  for (const int n : seen) EXPECT_NEAR(n, 10'000, 500);
  EXPECT_EQ(random.below(1), 0u);
}

TEST(Random, UnitIsInZeroToOne) {
  Random random(4);
  double sum = 0;
  for (int i = 0; i < 10'000; ++i) {
    const double u = random.unit();
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
  }
  EXPECT_NEAR(sum / 10'000, 0.5, 0.02);
}

TEST(Random, EntropySeedsDiffer) { EXPECT_NE(entropy_seed(), entropy_seed()); }

}  // namespace
}  // namespace cellar
