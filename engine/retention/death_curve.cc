#include "engine/retention/death_curve.h"

#include <algorithm>

namespace cellar::engine {

DeathCurve::DeathCurve(std::span<const DeathSpan> spans) {
  for (const DeathSpan& span : spans) first_us_ = std::min(first_us_, span.from_us);
  for (const DeathSpan& span : spans) {
    const long double width =
        static_cast<long double>(span.to_us) - static_cast<long double>(span.from_us) + 1;
    if (width < kLeastWidthUs) {
      begun_.push_back({span.to_us, span.bytes, 0, 0});
      ended_.push_back({span.to_us, span.bytes, 0, 0});
      continue;
    }
    const long double slope = span.bytes / width;
    const long double offset =
        slope * (static_cast<long double>(span.from_us) - static_cast<long double>(first_us_));
    begun_.push_back({span.from_us, span.bytes, slope, offset});
    ended_.push_back({span.to_us, span.bytes, slope, offset});
  }
  add_up(begun_);
  add_up(ended_);
}

void DeathCurve::add_up(std::vector<Sums>& sums) {
  std::ranges::sort(sums, {}, &Sums::at_us);
  for (size_t i = 1; i < sums.size(); ++i) {
    sums[i].bytes += sums[i - 1].bytes;
    sums[i].slope += sums[i - 1].slope;
    sums[i].offset += sums[i - 1].offset;
  }
}

size_t DeathCurve::until(const std::vector<Sums>& sums, int64_t at_us) {
  return static_cast<size_t>(std::ranges::upper_bound(sums, at_us, {}, &Sums::at_us) -
                             sums.begin());
}

double DeathCurve::about_dead(int64_t at_us) const {
  const size_t begun = until(begun_, at_us);
  const size_t ended = until(ended_, at_us);
  if (begun == 0) return 0;
  const Sums& from = begun_[begun - 1];
  const Sums to = ended == 0 ? Sums{} : ended_[ended - 1];
  if (begun == ended) return static_cast<double>(to.bytes);
  const long double passed =
      static_cast<long double>(at_us) - static_cast<long double>(first_us_) + 1;
  const long double dying = (from.slope - to.slope) * passed - (from.offset - to.offset);
  // Fractions are added in another order in each sum, so the difference may be below 0.
  const long double left = std::max(0.0L, from.bytes - to.bytes);
  return static_cast<double>(to.bytes + std::clamp(dying, 0.0L, left));
}

}  // namespace cellar::engine
