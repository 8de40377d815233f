#include "engine/gc/reclaim_plan.h"

#include <algorithm>

#include "engine/gc/reclaim.h"
#include "engine/gc/reclaim_queue.h"
#include "engine/gc/reclaim_state.h"

namespace cellar::engine {
namespace {

// Fraction of a lead added for unforeseen delays.
constexpr double kSafety = 0.1;
// Divisor of reclaim_within: work that begins this soon after another follows it.
constexpr int64_t kSoon = 8;

ReclaimDemand demand_of(Tablet& tablet, int64_t due_us) {
  const ShardContext& shard = tablet.shard();
  const TableOptions& options = tablet.schema().options;
  // Memtables are written and then read.
  const double bytes = reclaim_forecast(tablet).work_bytes(tablet) + unflushed_bytes(tablet);
  const double write_rate = options.reclaim_share * shard.blobs.write_rate();
  ReclaimDemand demand;
  demand.due_us = due_us;
  demand.within_us = options.reclaim_within_us;
  demand.share = options.reclaim_share;
  demand.work_us = bytes * shard.reclaim_pace.us_per_byte();
  if (write_rate > 0) demand.least_us = bytes / write_rate;
  return demand;
}

void note_place(ReclaimAttempt& attempt, int64_t due_us, const ReclaimTime& time) {
  const auto lead_us = static_cast<double>(due_us - time.begin_us);
  attempt.lead_us = static_cast<int64_t>(lead_us * (1 + kSafety));
  attempt.end_by_us = time.end_us;
  attempt.share = std::min(time.share, 1.0);
}

void plan_queue(const std::vector<Tablet*>& tablets) {
  std::vector<ReclaimDemand> demands;
  std::vector<Tablet*> waiting;
  for (Tablet* tablet : tablets) {
    const int64_t due_us = reclaim_forecast(*tablet).slack_deadline_us(*tablet);
    if (due_us == INT64_MAX) continue;
    demands.push_back(demand_of(*tablet, due_us));
    waiting.push_back(tablet);
  }
  const std::vector<ReclaimTime> times = ReclaimQueue::plan(demands);
  for (size_t i = 0; i < waiting.size(); ++i)
    note_place(reclaim_attempt(*waiting[i]), demands[i].due_us, times[i]);
}

ReclaimTurn turn_of(Tablet& tablet) {
  ReclaimForecast& outlook = reclaim_forecast(tablet);
  const int64_t within_us = tablet.schema().options.reclaim_within_us;
  const int64_t merge_us = outlook.merge_due_us(tablet);
  const int64_t merged_by_us = merge_us > INT64_MAX - within_us ? INT64_MAX : merge_us + within_us;
  return {&tablet, std::max(reclaim_due_us(tablet), reclaim_attempt(tablet).not_before_us),
          std::min(merged_by_us, outlook.slack_deadline_us(tablet))};
}

bool is_before(const ReclaimTurn& a, const ReclaimTurn& b, int64_t now_us) {
  if (a.begin_us <= now_us && b.begin_us <= now_us) return a.deadline_us < b.deadline_us;
  return a.begin_us < b.begin_us;
}

}  // namespace

ReclaimTurn plan_reclaims(const std::vector<Tablet*>& tablets) {
  plan_queue(tablets);
  const int64_t now_us = tablets.front()->shard().runtime.clock.now_us();
  ReclaimTurn first;
  ReclaimTurn second;
  for (Tablet* tablet : tablets) {
    ReclaimTurn turn = turn_of(*tablet);
    if (is_before(turn, first, now_us)) std::swap(turn, first);
    if (is_before(turn, second, now_us)) second = turn;
  }
  if (second.tablet == nullptr) return first;
  const int64_t within_us = second.tablet->schema().options.reclaim_within_us;
  if (second.begin_us <= now_us + within_us / kSoon) first.following = second.tablet;
  return first;
}

}  // namespace cellar::engine
