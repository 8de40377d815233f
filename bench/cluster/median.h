// The median of measured times.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

namespace cellar::bench {

// In milliseconds; 0 of none.
inline double median_ms(std::vector<int64_t> taken_us) {
  if (taken_us.empty()) return 0;
  std::ranges::sort(taken_us);
  return static_cast<double>(taken_us[taken_us.size() / 2]) / 1e3;
}

}  // namespace cellar::bench
