#include "engine/gc/reclaim_queue.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "engine/gc/reclaim_forecast.h"

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

// Fraction of a lead added for unforeseen delays.
constexpr double kSafety = 0.1;
// Divisor of reclaim_within: work that begins this soon after another follows it.
constexpr int64_t kSoon = 8;

ReclaimDemand demand_of(Tablet& tablet, int64_t due_us) {
  const ShardContext& shard = tablet.shard();
  const TableOptions& options = tablet.schema().options;
  // Memtables are written and then read.
  const double bytes = reclaim_forecast(tablet).work_bytes(tablet) + unflushed_bytes(tablet);
  const double write_rate = options.reclaim_share * shard.files.blobs.write_rate();
  ReclaimDemand demand;
  demand.due_us = due_us;
  demand.within_us = options.reclaim_within_us;
  demand.share = options.reclaim_share;
  demand.work_us = bytes * shard.merge_slot.speed().us_per_byte();
  if (write_rate > 0) demand.least_us = bytes / write_rate;
  return demand;
}

void note_place(ReclaimState& state, int64_t due_us, const ReclaimTime& time) {
  const auto lead_us = static_cast<double>(due_us - time.begin_us);
  state.lead_us = static_cast<int64_t>(lead_us * (1 + kSafety));
  state.place = {.share = std::min(time.share, 1.0), .end_by_us = time.end_us};
}

void plan_queue(const std::vector<Tablet*>& tablets) {
  std::vector<ReclaimDemand> demands;
  std::vector<Tablet*> waiting;
  for (Tablet* tablet : tablets) {
    const int64_t due_us = reclaim_forecast(*tablet).slack_out_us(*tablet);
    if (due_us == INT64_MAX) continue;
    demands.push_back(demand_of(*tablet, due_us));
    waiting.push_back(tablet);
  }
  const std::vector<ReclaimTime> times = ReclaimQueue::plan(demands);
  for (size_t i = 0; i < waiting.size(); ++i)
    note_place(ReclaimState::of(*waiting[i]), demands[i].due_us, times[i]);
}

ReclaimTurn turn_of(Tablet& tablet) {
  ReclaimForecast& outlook = reclaim_forecast(tablet);
  const int64_t within_us = tablet.schema().options.reclaim_within_us;
  const int64_t merge_us = outlook.merge_due_us(tablet);
  const int64_t merged_by_us = merge_us > INT64_MAX - within_us ? INT64_MAX : merge_us + within_us;
  return {tablet.id(),
          std::max(outlook.due_us(tablet), ReclaimState::of(tablet).attempt.not_before_us),
          std::min(merged_by_us, outlook.slack_out_us(tablet)),
          {}};
}

bool is_before(const ReclaimTurn& a, const ReclaimTurn& b, int64_t now_us) {
  if (a.begin_us <= now_us && b.begin_us <= now_us) return a.deadline_us < b.deadline_us;
  return a.begin_us < b.begin_us;
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

ReclaimTurn plan_reclaims(const std::vector<Tablet*>& tablets) {
  if (tablets.empty()) return {};
  plan_queue(tablets);
  const int64_t now_us = tablets.front()->shard().runtime.clock.now_us();
  ReclaimTurn first;
  ReclaimTurn second;
  for (Tablet* tablet : tablets) {
    ReclaimTurn turn = turn_of(*tablet);
    if (is_before(turn, first, now_us)) std::swap(turn, first);
    if (is_before(turn, second, now_us)) second = turn;
  }
  if (second.begin_us == INT64_MAX) return first;
  const auto is_second = [&second](const Tablet* tablet) { return tablet->id() == second.tablet; };
  const Tablet& next = **std::find_if(tablets.begin(), tablets.end(), is_second);
  if (second.begin_us <= now_us + next.schema().options.reclaim_within_us / kSoon)
    first.following = second.tablet;
  return first;
}

}  // namespace cellar::engine
