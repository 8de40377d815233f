#include "io/loop/stall_watch.h"

#include <algorithm>

#include "io/base/log.h"

namespace cellar {

StallWatch::StallWatch(Loop& loop, const Clock& clock, int64_t limit_us)
    : loop_(loop), clock_(clock), limit_us_(limit_us) {
  loop_.add_hook(*this);
}

StallWatch::~StallWatch() { loop_.remove_hook(*this); }

bool StallWatch::on_turn() {
  const int64_t now_us = clock_.boot_us();
  const int64_t took_us = now_us - turn_began_us_;
  turn_began_us_ = now_us;
  if (slept_) {
    slept_ = false;  // that turn began with a sleep of unknown length
    return false;
  }
  if (took_us <= limit_us_) return false;
  ++stalls_;
  longest_us_ = std::max(longest_us_, took_us);
  if (logged_stalls_ == 0 || now_us - logged_us_ >= kLogEveryUs) {
    log_warn("runtime", "loop stalled us={} limit_us={} stalls={} longest_us={}", took_us,
             limit_us_, stalls_, longest_us_);
    logged_us_ = now_us;
    logged_stalls_ = stalls_;
  }
  return false;
}

bool StallWatch::may_sleep() {
  slept_ = true;
  return true;
}

}  // namespace cellar
