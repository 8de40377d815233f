#include "io/loop/throttle.h"

#include <algorithm>
#include <cmath>

namespace cellar {

Throttle::Throttle(Timers& timers, uint64_t rate_per_s, uint64_t burst)
    : timers_(timers),
      rate_per_s_(rate_per_s),
      burst_(burst),
      tokens_(static_cast<double>(burst)),
      filled_us_(timers.now_us()) {}

void Throttle::refill() {
  const int64_t now_us = timers_.now_us();
  const double earned =
      static_cast<double>(now_us - filled_us_) * 1e-6 * static_cast<double>(rate_per_s_);
  filled_us_ = now_us;
  tokens_ = std::min(tokens_ + earned, static_cast<double>(burst_));
}

int64_t Throttle::take_us(uint64_t tokens) {
  if (rate_per_s_ == 0) return 0;
  refill();
  tokens_ -= static_cast<double>(tokens);
  if (tokens_ >= 0) return 0;
  return static_cast<int64_t>(std::ceil(-tokens_ * 1e6 / static_cast<double>(rate_per_s_)));
}

Async<void> Throttle::take(uint64_t tokens) {
  const int64_t wait_us = take_us(tokens);
  if (wait_us > 0) co_await sleep_us(timers_, wait_us);
}

}  // namespace cellar
