// DeathCurve: the sum of many death spans, so that the dead bytes at a time are found in O(log n).
//
// Of a span [from, to] of b bytes, b * (t - from + 1) / (to - from + 1) are dead at time t within
// it. With slope = b / width the sum is
//
//   sum(slope) * t - sum(slope * from)      over the spans that have started and not ended
//
// computed as the sums of all started spans minus those of all ended ones.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/retention/death_spans.h"

namespace cellar::engine {

class DeathCurve {
 public:
  // A shorter span counts as a step at its end, because differences of large sums are not exact.
  static constexpr int64_t kLeastWidthUs = 1'000'000;

  DeathCurve() = default;
  explicit DeathCurve(std::span<const DeathSpan> spans);

  bool empty() const { return ended_.empty(); }
  // See about_dead() of the spans.
  double about_dead(int64_t at_us) const;
  // When the first span starts and the last ends; INT64_MAX and INT64_MIN if there are none.
  int64_t first_us() const { return first_us_; }
  int64_t last_us() const { return ended_.empty() ? INT64_MIN : ended_.back().at_us; }

 private:
  // Sums over the spans up to here, in order of their starts or ends.
  struct Sums {
    int64_t at_us = 0;
    long double bytes = 0;
    long double slope = 0;
    long double offset = 0;
  };
  static void add_up(std::vector<Sums>& sums);
  // The number of entries at or before that time.
  static size_t until(const std::vector<Sums>& sums, int64_t at_us);

  int64_t first_us_ = INT64_MAX;
  std::vector<Sums> begun_;
  std::vector<Sums> ended_;
};

}  // namespace cellar::engine
