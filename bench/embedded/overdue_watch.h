// OverdueWatch: samples the reclaiming of a table during other work and keeps the maximum: overdue
// bytes as a share of what dead_slack allows, which is 1 at the bound.
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

  // Starts sampling. The bed outlives it and gets no other calls meanwhile.
  explicit OverdueWatch(Bed& bed);
  // Stops sampling and reports.
  void report(boost::json::object& out);

 private:
  void look();

  Bed& bed_;
  std::atomic<bool> over_ = false;
  uint64_t samples_ = 0;
  uint64_t over_slack_ = 0;  // samples over the slack
  uint64_t most_overdue_ = 0;
  uint64_t live_ = 0;  // at the last sample
  double worst_ = 0;
  int64_t missed_us_ = 0;  // the longest time by which the deadline was missed
  std::jthread thread_;
};

}  // namespace cellar::bench
