// Times as text, at the limits of the calendar.
#include "io/base/time_text.h"

#include <gtest/gtest.h>

namespace cellar {
namespace {

TEST(TimeText, IsRfc3339InUtc) {
  EXPECT_EQ(time_text(0), "1970-01-01T00:00:00Z");
  EXPECT_EQ(time_text(-1), "1969-12-31T23:59:59.999999Z");
  EXPECT_EQ(time_text(951'782'400'000'000), "2000-02-29T00:00:00Z");
  EXPECT_EQ(time_text(951'868'800'000'000), "2000-03-01T00:00:00Z");
  EXPECT_EQ(time_text(1'468'944'000'000'000), "2016-07-19T16:00:00Z");
  EXPECT_EQ(time_text(1'468'944'000'120'000), "2016-07-19T16:00:00.120Z");
  EXPECT_EQ(time_text(1'468'944'000'120'001), "2016-07-19T16:00:00.120001Z");
  EXPECT_EQ(time_text(253'402'300'799'999'999), "9999-12-31T23:59:59.999999Z");
}

TEST(TimeText, OutsideOfTheCalendarIsTheNumber) {
  EXPECT_EQ(time_text(253'402'300'800'000'000), "253402300800000000");
  EXPECT_EQ(told_time(INT64_MAX), "9223372036854775807");
  EXPECT_EQ(told_time(INT64_MIN), "-9223372036854775808");
  EXPECT_EQ(told_time(1'468'944'000'000'000), "1468944000000000 (2016-07-19T16:00:00Z)");
}

TEST(DurationText, IsExactInTheLargestUnit) {
  EXPECT_EQ(duration_text(0), "0s");
  EXPECT_EQ(duration_text(1), "1us");
  EXPECT_EQ(duration_text(1000), "1ms");
  EXPECT_EQ(duration_text(90'000'000), "90s");
  EXPECT_EQ(duration_text(5'400'000'000), "90m");
  EXPECT_EQ(duration_text(172'800'000'000), "2d");
  EXPECT_EQ(duration_text(172'800'000'001), "172800000001us");
  EXPECT_EQ(duration_text(-1000), "-1ms");
}

}  // namespace
}  // namespace cellar
