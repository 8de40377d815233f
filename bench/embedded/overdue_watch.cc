#include "bench/embedded/overdue_watch.h"

#include <algorithm>
#include <chrono>

namespace cellar::bench {

OverdueWatch::OverdueWatch(Bed& bed) : bed_(bed) {
  thread_ = std::jthread([this] {
    while (!over_) {
      look();
      std::this_thread::sleep_for(std::chrono::milliseconds(kEveryMs));
    }
  });
}

void OverdueWatch::look() {
  const engine::ReclaimReport report = bed_.reclaim();
  const engine::TableReclaim& table = report.tables.front();
  ++samples_;
  live_ = table.figures.live_bytes;
  most_overdue_ = std::max(most_overdue_, table.figures.overdue_bytes);
  if (table.missed_since_us != INT64_MAX) {
    ++over_slack_;
    missed_us_ = std::max(missed_us_, report.now_us - table.missed_since_us);
  }
  if (live_ == 0) return;
  const double allowed = table.dead_slack * static_cast<double>(live_);
  worst_ = std::max(worst_, static_cast<double>(table.figures.overdue_bytes) / allowed);
}

void OverdueWatch::report(boost::json::object& out) {
  over_ = true;
  thread_.join();
  out["reclaim_samples"] = samples_;
  out["samples_over_slack"] = over_slack_;
  out["worst_overdue_of_slack"] = worst_;
  out["longest_missed_us"] = missed_us_;
  out["most_overdue_bytes"] = most_overdue_;
  out["live_bytes"] = live_;
}

}  // namespace cellar::bench
