// Lengths of time for tests, in microseconds.
#pragma once

#include <cstdint>

namespace cellar {

inline constexpr int64_t kSecondUs = 1'000'000;
inline constexpr int64_t kMinuteUs = 60 * kSecondUs;
inline constexpr int64_t kHourUs = 60 * kMinuteUs;
inline constexpr int64_t kDayUs = 24 * kHourUs;

}  // namespace cellar
