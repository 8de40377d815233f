// The value forms of the case format (README.md): keys, values, durations, times.
#pragma once

#include <cstdint>
#include <string>
#include <utility>

#include <boost/json/value.hpp>

#include "io/base/result.h"

namespace cellar::cases {

namespace json = boost::json;

// A string is its UTF-8 bytes; {"hex": "00ff"} is bytes; {"int64": n} is 8 bytes big-endian.
Result<std::string> parse_bytes(const json::value& value);
// "f:q", or bytes; split at the first colon.
Result<std::pair<std::string, std::string>> parse_column(const json::value& value);
// "500us" "10ms" "1s" "5m" "1h" "2d" -> microseconds.
Result<int64_t> parse_duration_us(const json::value& value);
// Microseconds since the epoch: a number, or ISO 8601 with a zone ("2016-07-20T00:00:00+08:00",
// "...Z").
Result<int64_t> parse_time_us(const json::value& value);
// "+1h" or "-30s" relative to `now_us`, else parse_time_us.
Result<int64_t> parse_clock_us(const json::value& value, int64_t now_us);

}  // namespace cellar::cases
