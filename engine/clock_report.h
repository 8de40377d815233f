// ClockReport: how trusted time stands on a node, for operators. A value.
#pragma once

#include <cstdint>

namespace cellar::engine {

struct ClockReport {
  int64_t trusted_us = 0;  // what is answered now is judged by
  int64_t wall_us = 0;
  int64_t held_us = 0;  // how far the wall clock is ahead of trusted time; at most kSlackUs is none
  bool synchronised = true;      // says the kernel
  int64_t steady_us = 0;         // for how long the wall clock has been synchronised and consistent
  int64_t release_after_us = 0;  // held time is released when steady_us reaches it
  int64_t lag_us = 0;            // how far trusted time lags because an anchor is missing
  bool stands = false;           // for as long as the node runs: it was started read-only
};

}  // namespace cellar::engine
