#include "engine/gc/reclaim_snapshot.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "engine/gc/reclaim_dead.h"
#include "engine/gc/reclaim_state.h"

namespace cellar::engine {
namespace {

// Fills the picker's input. `grace_us`: reduced by the lead.
void fill_input(ReclaimInput& input, const TableDeaths& table, int64_t now_us, int64_t margin_us,
                int64_t grace_us) {
  input.run = table.run;
  input.bytes = static_cast<double>(table.bytes);
  input.dead = about_dead(table.by_time, now_us - margin_us);
  input.overdue = about_dead(table.by_time, now_us - grace_us);
  input.alone = table.alone;
  input.damaged = table.table->is_damaged();
  for (const DeathByNewer& death : table.by_newer) {
    const std::span<const DeathSpan> span{&death.span, 1};
    input.killed.push_back(
        {death.killer, about_dead(span, now_us), about_dead(span, now_us - grace_us)});
  }
}

int64_t saturating_add(int64_t a, int64_t b) { return a > INT64_MAX - b ? INT64_MAX : a + b; }

class Gather {
 public:
  Gather(Tablet& tablet, const ReclaimEstimate& view) : tablet_(tablet), view_(view) {}

  ReclaimSnapshot take() {
    const ShardContext& shard = tablet_.shard();
    now_us_ = shard.runtime.clock.now_us();
    grace_us_ = tablet_.reclaim_grace_us();
    lead_us_ = reclaim_lead_us(tablet_);
    result_.tablet = tablet_.id();
    result_.runs = tablet_.version().runs.size();
    result_.counts = TableRetention(tablet_.schema()).any_counts();
    result_.now_us = now_us_;
    result_.margin_us = tablet_.margin_us();
    add_plans(shard);
    result_.due = result_.slack_due_us <= now_us_;
    add_undo();
    absl::flat_hash_map<const TabletTable*, size_t> places;
    for (const TableDeaths& table : view_.tables) {
      places[table.table.get()] = result_.files.size();
      add_file(table);
    }
    for (const DeadTable& dead : dead_tables(tablet_, now_us_)) {
      const auto place = places.find(dead.table.get());
      if (place != places.end()) note_dead(dead, result_.files[place->second]);
    }
    return std::move(result_);
  }

 private:
  void add_plans(const ShardContext& shard) {
    ReclaimForecast& outlook = reclaim_forecast(tablet_);
    result_.slack_due_us = outlook.slack_due_us(tablet_);
    result_.merge_due_us = outlook.merge_due_us(tablet_);
    const ReclaimAttempt& attempt = reclaim_attempt(tablet_);
    const int64_t rests_us =
        std::max<int64_t>(shard.reclaim_rests_until_us - shard.runtime.timers.now_us(), 0);
    result_.not_before_us = std::max(attempt.not_before_us, now_us_ + rests_us);
    const double share = std::max(attempt.share, tablet_.schema().options.reclaim_share);
    if (shard.reclaim_pace.has_learned())
      result_.us_per_byte = shard.reclaim_pace.us_per_byte() / share;
    result_.merge_began_us = shard.merge_began_us;
    if (attempt.failure) result_.failure = attempt.failure->to_string();
    result_.failed_us = attempt.at_us;
    result_.in_vain = attempt.in_vain;
    if (shard.stopped) result_.stopped = shard.stopped->to_string();
  }

  void add_undo() {
    for (const FamilySchema& family : tablet_.schema().families) {
      for (const PastRule& past : family.history) {
        if (!past.can_be_undone(now_us_)) continue;
        result_.undo_until_us = std::max(result_.undo_until_us, past.undo_until_us);
      }
    }
  }

  void add_file(const TableDeaths& table) {
    ReclaimFileState file;
    fill_input(file, table, now_us_, tablet_.margin_us(), grace_us_ - lead_us_);
    file.blob = table.table->blob();
    file.run_number = table.run_number;
    file.all_dead = table.dead(now_us_);
    file.all_overdue = table.dead(now_us_ - grace_us_);
    file.held = table.held(now_us_);
    file.overdue_since_us = saturating_add(table.first_death_us(), grace_us_);
    file.unknown = table.unknown;
    if (table.table->is_damaged()) file.damage = table.table->damage()->message;
    const ShardContext& shard = tablet_.shard();
    file.merging =
        shard.compacting == &tablet_ &&
        std::find(shard.merging.begin(), shard.merging.end(), file.blob) != shard.merging.end();
    result_.files.push_back(std::move(file));
  }

  static void note_dead(const DeadTable& dead, ReclaimFileState& file) {
    file.dead_from_us = dead.dead_from_us;
    file.goes = dead.goes;
    if (dead.masked) file.masked = dead.masked->blob();
  }

  Tablet& tablet_;
  const ReclaimEstimate& view_;
  ReclaimSnapshot result_;
  int64_t now_us_ = 0;
  int64_t grace_us_ = 0;
  int64_t lead_us_ = 0;
};

}  // namespace

int64_t reclaim_lead_us(Tablet& tablet) {
  const int64_t within_us = tablet.schema().options.reclaim_within_us;
  const auto most_us =
      static_cast<int64_t>(ReclaimAttempt::kMostLead * static_cast<double>(within_us));
  return std::min(reclaim_attempt(tablet).lead_us + ReclaimAttempt::again_us(within_us), most_us);
}

ReclaimSnapshot reclaim_snapshot(Tablet& tablet, const ReclaimEstimate& view) {
  return Gather(tablet, view).take();
}

}  // namespace cellar::engine
