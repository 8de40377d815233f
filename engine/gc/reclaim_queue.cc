#include "engine/gc/reclaim_queue.h"

#include <algorithm>
#include <numeric>
#include <utility>

namespace cellar::engine {
namespace {

using Order = std::vector<size_t>;

double share_of(const ReclaimDemand& demand, double least) {
  return std::max({demand.share, least, 1e-3});
}

// Plans backwards from the last deadline. True when no lead exceeds kGoodLead.
bool plan_with(double least_share, std::span<const ReclaimDemand> demands, const Order& order,
               std::vector<ReclaimTime>& times) {
  bool good = true;
  int64_t next_us = INT64_MAX;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const ReclaimDemand& demand = demands[*it];
    ReclaimTime& time = times[*it];
    time.share = share_of(demand, least_share);
    const double takes_us = std::max(demand.work_us / time.share, demand.least_us);
    time.end_us = std::min(demand.due_us, next_us);
    time.begin_us = time.end_us - static_cast<int64_t>(std::min(takes_us, 1e15));
    next_us = time.begin_us;
    const auto lead_us = static_cast<double>(demand.due_us - time.begin_us);
    good &= lead_us <= ReclaimQueue::kGoodLead * static_cast<double>(demand.within_us);
  }
  return good;
}

}  // namespace

std::vector<ReclaimTime> ReclaimQueue::plan(std::span<const ReclaimDemand> demands) {
  std::vector<ReclaimTime> times(demands.size());
  Order order(demands.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [demands](size_t a, size_t b) {
    return std::pair(demands[a].due_us, a) < std::pair(demands[b].due_us, b);
  });
  double share = kMostShare;
  for (const ReclaimDemand& demand : demands) share = std::min(share, demand.share);
  while (!plan_with(share, demands, order, times) && share < kMostShare) {
    share = std::min(std::max(share, 0.01) * kStep, kMostShare);
  }
  return times;
}

}  // namespace cellar::engine
