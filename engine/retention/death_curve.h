// DeathCurve: many death spans added up, so that what is dead at a time is found in O(log n).
//
// Of a span [from, to] of b bytes, b * (t - from + 1) / (to - from + 1) are dead at t within it.
// With slope = b / width these add up to
//
//   sum(slope) * t - sum(slope * from)      over the spans that have begun and have not ended
//
// whose sums are those of all that have begun less those of all that have ended.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/retention/death_spans.h"

namespace cellar::engine {

class DeathCurve {
 public:
  // A shorter span is taken for a step at its end: differences of large sums would not be exact.
  static constexpr int64_t kLeastWidthUs = 1'000'000;

  DeathCurve() = default;
  explicit DeathCurve(std::span<const DeathSpan> spans);

  bool empty() const { return ended_.empty(); }
  // As about_dead() of the spans.
  double about_dead(int64_t at_us) const;
  // When the first begins, and when the last has ended; INT64_MAX and INT64_MIN: there are none.
  int64_t first_us() const { return first_us_; }
  int64_t last_us() const { return ended_.empty() ? INT64_MIN : ended_.back().at_us; }

 private:
  // Sums over the spans up to here, in order of their beginnings or ends.
  struct Sums {
    int64_t at_us = 0;
    long double bytes = 0;
    long double slope = 0;
    long double offset = 0;
  };
  static void add_up(std::vector<Sums>& sums);
  // How many lie at or before that time.
  static size_t until(const std::vector<Sums>& sums, int64_t at_us);

  int64_t first_us_ = INT64_MAX;
  std::vector<Sums> begun_;
  std::vector<Sums> ended_;
};

}  // namespace cellar::engine
