// RateBudget: the rate holds over time for amounts of any size, credit is bounded, and the rate may
// change at any call. The clock is a number.
#include "io/loop/rate_budget.h"

#include <gtest/gtest.h>

namespace cellar {
namespace {

constexpr double kUnlimited = RateBudget::kUnlimited;

TEST(RateBudget, TheRateHoldsOverALongRunForAmountsLargerThanTheCredit) {
  RateBudget budget(10'000, 0);
  int64_t now_us = 0;
  for (int i = 0; i < 100; ++i) {
    budget.earn(1, now_us);
    budget.spend(50'000);
    now_us += static_cast<int64_t>(budget.wait_us(1));
  }
  EXPECT_EQ(now_us, 5'000'000);
}

TEST(RateBudget, CreditIsCappedAndADebtIsEarnedFirst) {
  RateBudget budget(100, 0);
  EXPECT_FALSE(budget.has_credit());
  EXPECT_EQ(budget.wait_us(20), 0);
  EXPECT_EQ(budget.earn(20, 10'000'000), 2'000) << "credit of 100 us";
  budget.spend(5'000);
  EXPECT_FALSE(budget.has_credit());
  EXPECT_EQ(budget.wait_us(20), 150);
  EXPECT_EQ(budget.earn(20, 10'000'100), 2'000);
  EXPECT_EQ(budget.wait_us(20), 50);
  EXPECT_EQ(budget.wait_us(10), 100) << "at half of the rate";
  EXPECT_EQ(budget.earn(20, 10'000'150), 1'000);
  EXPECT_EQ(budget.wait_us(20), 0);
  EXPECT_FALSE(budget.has_credit());
}

TEST(RateBudget, WithoutCreditForPausesNothingIsSaved) {
  RateBudget budget(0, 0);
  EXPECT_EQ(budget.earn(1, 1'000'000), 0);
  budget.spend(300);
  budget.earn(1, 1'000'100);
  EXPECT_EQ(budget.wait_us(1), 200);
}

TEST(RateBudget, ALowerRateHasLessCreditAndReturnsTheRest) {
  RateBudget budget(100, 0);
  budget.earn(20, 1'000);
  EXPECT_EQ(budget.earn(5, 1'000), -1'500);
}

TEST(RateBudget, AClockThatStepsBackEarnsNothing) {
  RateBudget budget(100, 1'000);
  EXPECT_EQ(budget.earn(1, 500), 0);
  EXPECT_EQ(budget.earn(1, 550), 50);
}

TEST(RateBudget, WithoutALimitEverythingPassesAndNothingIsSavedForALimitThatFollows) {
  RateBudget budget(100, 0);
  budget.spend(1e9);
  EXPECT_EQ(budget.earn(kUnlimited, 10), 0);
  EXPECT_TRUE(budget.is_unlimited());
  budget.spend(1e12);
  EXPECT_TRUE(budget.has_credit());
  EXPECT_EQ(budget.wait_us(kUnlimited), 0);
  EXPECT_EQ(budget.earn(2, 20), 20) << "of the time since then";
  EXPECT_FALSE(budget.is_unlimited());
}

TEST(RateBudget, AShareOfTheTimeOwesTheRest) {
  EXPECT_EQ(rest_us(250, 0.25), 750);
  EXPECT_EQ(rest_us(250, 1), 0);
}

}  // namespace
}  // namespace cellar
