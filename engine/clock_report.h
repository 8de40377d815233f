// ClockReport: the state of a node's trusted time, for operators. A value.
#pragma once

#include <cstdint>

namespace cellar::engine {

struct ClockReport {
  int64_t trusted_us = 0;  // the time by which a request is judged now
  int64_t wall_us = 0;
  // how far the wall clock is ahead of trusted time; up to ClockKeeper::kSlackUs counts as none
  int64_t held_us = 0;
  bool synchronised = true;      // as reported by the kernel
  int64_t steady_us = 0;         // for how long the wall clock has been synchronised and consistent
  int64_t release_after_us = 0;  // held time is released when steady_us reaches it
  int64_t lag_us = 0;            // how far trusted time lags because an anchor is missing
  bool stands = false;  // time does not advance as long as the node runs: it was started read-only
};

}  // namespace cellar::engine
