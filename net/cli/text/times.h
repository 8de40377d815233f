// Parsing and formatting of times. Internally microseconds since the Unix epoch.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "io/base/result.h"

namespace cellar::cli {

// Accepts a whole number of microseconds; RFC 3339 as in "2026-11-21T08:00:00.5Z",
// "2026-11-21 08:00:00+01:00", "2026-11-21T08:00" or "2026-11-21"; or relative times: "now",
// "today", "yesterday", "tomorrow" (at midnight), each optionally with "-1h" or "+5m" (units us ms
// s m h d w), "-1h" alone, "2h ago", "in 2h". Days and times without a zone are UTC. Relative times
// are rounded down to a millisecond, which every table accepts. INVALID_ARGUMENT names the text.
Result<int64_t> parse_time(std::string_view text, int64_t now_us);
// Whether a text that parse_time() refuses was probably meant as a time: "2026-13-01", "2days",
// "today+2x".
bool resembles_time(std::string_view text);

// "500us", "10ms", "1s", "5m", "1h", "2d", "1w".
Result<int64_t> parse_duration(std::string_view text);

// "2026-11-21T08:00:00Z", with milli- or microseconds if nonzero; outside the years 0 to 9999 the
// number.
std::string format_time(int64_t us);
// In the format of parse_duration(), in the largest unit that divides it: "2d", "90m", "1500us".
std::string exact_duration(int64_t us);
// The distance of `us` from `now_us`: "in 2 d 4 h", "3.2 s ago", "now".
std::string format_distance(int64_t us, int64_t now_us);
// "850 us", "1.25 ms", "3.2 s", "4 min 05 s", "2 h 10 min", "3 d 4 h".
std::string format_duration(int64_t us);

// Days since 1970-01-01 of a Gregorian date.
int64_t days_from_civil(int64_t year, unsigned month, unsigned day);

}  // namespace cellar::cli
