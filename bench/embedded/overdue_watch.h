// OverdueWatch: looks at a table's reclaiming again and again while something else goes on, and
// keeps the worst: overdue bytes as a share of what dead_slack allows, which is 1 at the bound.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include <boost/json/object.hpp>

#include "bench/embedded/bed.h"

namespace cellar::bench {

class OverdueWatch {
 public:
  static constexpr int64_t kEveryMs = 100;

  // Begins. The bed outlives it, and is not asked by others meanwhile.
  explicit OverdueWatch(Bed& bed);
  // Ends, and tells.
  void report(boost::json::object& out);

 private:
  void look();

  Bed& bed_;
  std::atomic<bool> over_ = false;
  uint64_t samples_ = 0;
  uint64_t over_slack_ = 0;  // of them
  uint64_t most_overdue_ = 0;
  uint64_t live_ = 0;  // at the last look
  double worst_ = 0;
  int64_t missed_us_ = 0;  // the longest that the deadline was missed by
  std::jthread thread_;
};

}  // namespace cellar::bench
