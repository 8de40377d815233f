// Times and durations as text, for errors, logs and user input.
#pragma once

#include <cstdint>
#include <string>

namespace cellar {

// Formats microseconds since 1970 (UTC) as RFC 3339: "2016-07-20T08:00:00Z", with milli- or
// microseconds if nonzero. Outside the years 0 to 9999: the number.
std::string time_text(int64_t us);
// For sentences: "1469001600000000 (2016-07-20T08:00:00Z)".
std::string told_time(int64_t us);
// Exact, in the largest unit that divides the value: "2d", "90m", "1500us"; "0s" for zero.
std::string duration_text(int64_t us);

}  // namespace cellar
