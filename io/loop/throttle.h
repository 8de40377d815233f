// Throttle: a token bucket that limits background bytes per second.
#pragma once

#include <cstdint>

#include "io/loop/async.h"
#include "io/loop/timers.h"

namespace cellar {

// One loop. Refills at `rate_per_s` up to `burst` tokens.
class Throttle {
 public:
  // rate_per_s == 0: no limit.
  Throttle(Timers& timers, uint64_t rate_per_s, uint64_t burst);

  // Takes the tokens and returns how long the caller should wait before it continues: 0 while there
  // is credit. The balance may become negative, which permits requests larger than the burst and
  // keeps the long-run rate.
  int64_t take_us(uint64_t tokens);
  // Takes the tokens and waits.
  Async<void> take(uint64_t tokens);

  uint64_t rate_per_s() const { return rate_per_s_; }

 private:
  void refill();

  Timers& timers_;
  const uint64_t rate_per_s_;
  const uint64_t burst_;
  double tokens_;
  int64_t filled_us_;
};

}  // namespace cellar
