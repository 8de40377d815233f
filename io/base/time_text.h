// Times and durations in words: as refusals and logs tell them, and as people write them.
#pragma once

#include <cstdint>
#include <string>

namespace cellar {

// Microseconds since 1970 in UTC, as RFC 3339: "2016-07-20T08:00:00Z", with milli- or microseconds
// where there are any; outside of the years 0 to 9999 the number.
std::string time_text(int64_t us);
// For a sentence: "1469001600000000 (2016-07-20T08:00:00Z)".
std::string told_time(int64_t us);
// Exactly, in the largest unit that divides it: "2d", "90m", "1500us"; "0s".
std::string duration_text(int64_t us);

}  // namespace cellar
