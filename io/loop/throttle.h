// Throttle: a token bucket, for background bytes per second.
#pragma once

#include <cstdint>

#include "io/loop/async.h"
#include "io/loop/timers.h"

namespace cellar {

// One loop. Fills at `rate_per_s` up to `burst` tokens.
class Throttle {
 public:
  // rate_per_s == 0 means no limit.
  Throttle(Timers& timers, uint64_t rate_per_s, uint64_t burst);

  // Takes the tokens, which may leave the bucket in debt, and answers how long the caller should
  // wait before it goes on: 0 while there was credit. Debt makes a request larger than the burst
  // possible and keeps the long-run rate.
  int64_t take_us(uint64_t tokens);
  // The same, waiting.
  Async<void> take(uint64_t tokens);

  void set_rate(uint64_t rate_per_s, uint64_t burst);
  uint64_t rate_per_s() const { return rate_per_s_; }

 private:
  void refill();

  Timers& timers_;
  uint64_t rate_per_s_;
  uint64_t burst_;
  double tokens_;
  int64_t filled_us_;
};

}  // namespace cellar
