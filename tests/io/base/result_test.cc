#include "io/base/result.h"

#include <gtest/gtest.h>

#include <cerrno>
#include <memory>

#include "io/base/check.h"

namespace cellar {
namespace {

Result<std::unique_ptr<int>> box(int v) {
  if (v < 0) return fail(Errc::out_of_range, "{} is below 0", v);
  return std::make_unique<int>(v);
}
Result<void> check_even(int v) {
  if (v % 2 != 0) return fail(Errc::invalid_argument, "{} is odd", v);
  return {};
}
Result<int> sum_of_two(int a, int b) {
  TRY(const auto x, box(a));
  TRY(auto y, box(b));
  TRY_VOID(check_even(*x + *y));
  return *x + *y;
}

TEST(Result, TryHandsOnTheFirstErrorAndElseTheValue) {
  EXPECT_EQ(sum_of_two(1, 3).value(), 4);
  EXPECT_EQ(sum_of_two(-1, -2).error().to_string(), "OUT_OF_RANGE: -1 is below 0");
  EXPECT_EQ(sum_of_two(1, -2).error().message, "-2 is below 0");
  EXPECT_EQ(sum_of_two(1, 2).error().code, Errc::invalid_argument);
}

TEST(Error, KeepsRetryAndOutcomeWhenBuiltInOneExpression) {
  const Error error = Error(Errc::unavailable, "busy").retry_after(50).outcome(Applied::applied);
  EXPECT_EQ(error.retry_after_ms, 50u);
  EXPECT_EQ(error.applied, Applied::applied);
  EXPECT_TRUE(error.retryable());
  EXPECT_FALSE(Error(Errc::not_found, "").retryable());
}

TEST(Error, CodesHaveTheirCanonicalNames) {
  EXPECT_EQ(errc_name(Errc::ok), "OK");
  EXPECT_EQ(errc_name(Errc::deadline_exceeded), "DEADLINE_EXCEEDED");
  EXPECT_EQ(errc_name(Errc::unauthenticated), "UNAUTHENTICATED");
  EXPECT_EQ(errc_name(static_cast<Errc>(99)), "UNKNOWN");
}

TEST(Error, OperatingSystemErrorsMapToCodesAndKeepErrno) {
  EXPECT_EQ(os_error(ENOSPC, "x").code, Errc::resource_exhausted);
  EXPECT_EQ(os_error(EMFILE, "x").code, Errc::resource_exhausted);
  EXPECT_EQ(os_error(ENOENT, "x").code, Errc::not_found);
  EXPECT_EQ(os_error(EACCES, "x").code, Errc::permission_denied);
  EXPECT_EQ(os_error(EIO, "x").code, Errc::unavailable);
  EXPECT_EQ(os_error(EIO, "x").os_error, EIO);
  EXPECT_NE(os_error(EIO, "write of a.log").message.find("write of a.log"), std::string::npos);
}

TEST(CheckDeathTest, FailedCheckNamesConditionAndMessage) {
  const int three = 3;
  EXPECT_DEATH(CHECK(three == 4, "three was {}", three), "three == 4.*three was 3");
}

}  // namespace
}  // namespace cellar
