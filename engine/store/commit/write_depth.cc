#include "engine/store/commit/write_depth.h"

namespace cellar::engine {

// Writes whose batch was opened at another depth do not count.
void WriteDepth::note(uint32_t begun, int64_t filled_us, int64_t wrote_us, int64_t now_us) {
  if (begun != generation_) return;
  sum_us_ += static_cast<double>(filled_us) / 2 + static_cast<double>(wrote_us);
  ++samples_;
  if (samples_ >= kSamples && (used_ != best_ || now_us - since_us_ >= kTrialUs)) choose(now_us);
}

void WriteDepth::choose(int64_t now_us) {
  const double mean_us = sum_us_ / static_cast<double>(samples_);
  if (used_ == best_) {
    best_us_ = mean_us;
    return use(next_, now_us);
  }
  if (mean_us < best_us_ * kBetter) best_ = used_;
  do next_ = (next_ + 1) % kDepths.size();
  while (next_ == best_);
  use(best_, now_us);
}

void WriteDepth::use(size_t depth, int64_t now_us) {
  used_ = depth;
  ++generation_;
  since_us_ = now_us;
  sum_us_ = 0;
  samples_ = 0;
}

}  // namespace cellar::engine
