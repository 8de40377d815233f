#include "engine/gc/reclaim_reason.h"

#include <absl/container/flat_hash_map.h>

#include <algorithm>

#include "engine/gc/dead_tables.h"
#include "engine/gc/reclaim_estimate.h"
#include "engine/gc/reclaim_forecast.h"
#include "io/base/saturating.h"

namespace cellar::engine {
namespace {

// Smaller amounts are rounding errors.
constexpr double kLeastDeadBytes = 1;

class Reasons {
 public:
  explicit Reasons(const ReclaimSnapshot& of) : of_(of), blockers_(of.files.size()) {
    const std::vector<ReclaimInput> inputs(of.files.begin(), of.files.end());
    const auto work = pick_reclaim(inputs, of.counts);
    if (work && of.us_per_byte > 0) {
      const double takes_us = std::min(work->bytes * of.us_per_byte, 1e15);
      done_us_ = std::max(of.now_us, of.not_before_us) + static_cast<int64_t>(takes_us);
    }
    for (const ReclaimFileState& file : of.files) {
      if (file.damaged && !damaged_) damaged_ = file.blob;
    }
    if (damaged_) blockers_ = reclaim_blockers(inputs, of.counts);
  }

  std::vector<ReclaimFile> take() const {
    std::vector<ReclaimFile> files;
    for (size_t i = 0; i < of_.files.size(); ++i) {
      ReclaimFile file = described(of_.files[i]);
      explain(i, file);
      if (file.reason != ReclaimReason::none) files.push_back(std::move(file));
    }
    return files;
  }

 private:
  static uint64_t whole(double bytes) { return static_cast<uint64_t>(std::max(bytes, 0.0)); }

  ReclaimFile described(const ReclaimFileState& state) const {
    ReclaimFile file;
    file.tablet = of_.tablet;
    file.blob = state.blob;
    file.run = state.run_number;
    file.bytes = whole(state.bytes);
    file.wholly_dead = state.dead_from_us <= of_.now_us;
    file.dead_bytes = file.wholly_dead ? file.bytes : whole(state.all_dead);
    file.overdue_bytes = whole(state.all_overdue);
    file.held_bytes = whole(state.held);
    if (file.overdue_bytes > 0) file.overdue_since_us = state.overdue_since_us;
    return file;
  }

  void explain(size_t i, ReclaimFile& file) const {
    const ReclaimFileState& state = of_.files[i];
    const bool dead = file.wholly_dead;
    const bool overdue = state.all_overdue >= kLeastDeadBytes;
    if (state.damaged) return because(file, ReclaimReason::damaged, state.damage);
    if (!dead && !overdue) return explain_held(state, file);
    if (of_.stopped) return because(file, ReclaimReason::failed, *of_.stopped);
    if (state.merging) {
      file.since_us = of_.merge_began_us;
      file.reason = ReclaimReason::its_turn;
      return;
    }
    if (dead && of_.now_us < state.dead_from_us + of_.margin_us) {
      file.until_us = state.dead_from_us + of_.margin_us;
      file.reason = ReclaimReason::margin;
      return;
    }
    if (!dead && !of_.due) {
      file.until_us = of_.slack_due_us;
      file.reason = ReclaimReason::within_slack;
      return;
    }
    if (of_.failure) {
      file.since_us = of_.failed_us;
      file.until_us = of_.not_before_us;
      return because(file, ReclaimReason::failed, *of_.failure);
    }
    if (dead) return explain_dead(state, file);
    explain_overdue(i, file);
  }

  void explain_held(const ReclaimFileState& state, ReclaimFile& file) const {
    if (state.unknown) {
      file.reason = ReclaimReason::unknown;
    } else if (state.held >= kLeastDeadBytes) {
      file.reason = ReclaimReason::undo_window;
      file.until_us = of_.undo_until_us;
    }
  }

  void explain_dead(const ReclaimFileState& state, ReclaimFile& file) const {
    file.until_us = std::max(of_.now_us, of_.not_before_us);
    file.reason = ReclaimReason::its_turn;
    if (state.goes) return;
    if (damaged_) return beside(*damaged_, file);
    file.until_us = std::max(of_.merge_due_us, file.until_us);
    file.count = of_.runs;
    if (state.masked) file.other = *state.masked;
  }

  void explain_overdue(size_t i, ReclaimFile& file) const {
    if (blockers_[i]) return beside(of_.files[*blockers_[i]].blob, file);
    file.reason = ReclaimReason::its_turn;
    file.until_us = std::max(of_.now_us, of_.not_before_us);
    file.done_us = done_us_;
    if (of_.counts) file.count = of_.runs;
  }

  static void beside(BlobId damaged, ReclaimFile& file) {
    file.other = damaged;
    file.reason = ReclaimReason::damaged;
    file.until_us = INT64_MAX;
  }

  static void because(ReclaimFile& file, ReclaimReason reason, const std::string& error) {
    file.reason = reason;
    file.error = error;
  }

  const ReclaimSnapshot& of_;
  std::vector<std::optional<size_t>> blockers_;
  std::optional<BlobId> damaged_;
  int64_t done_us_ = INT64_MAX;
};

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

class Snapshot {
 public:
  Snapshot(Tablet& tablet, const ReclaimEstimate& estimate)
      : tablet_(tablet), estimate_(estimate) {}

  ReclaimSnapshot take() {
    const ShardContext& shard = tablet_.shard();
    now_us_ = shard.runtime.clock.now_us();
    grace_us_ = reclaim_grace_us(tablet_);
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
    for (const TableDeaths& table : estimate_.tables) {
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
    const ReclaimState& state = ReclaimState::of(tablet_);
    const ReclaimAttempt& attempt = state.attempt;
    const int64_t rests_us =
        std::max<int64_t>(shard.reclaim.rests_until_us - shard.runtime.timers.now_us(), 0);
    result_.not_before_us = std::max(attempt.not_before_us, now_us_ + rests_us);
    const double share = std::max(state.place.share, tablet_.schema().options.reclaim_share);
    if (shard.merge_slot.speed().has_learned())
      result_.us_per_byte = shard.merge_slot.speed().us_per_byte() / share;
    result_.merge_began_us = shard.merge_slot.began_us();
    if (attempt.failure) result_.failure = attempt.failure->to_string();
    result_.failed_us = attempt.at_us;
    if (shard.wal.stopped()) result_.stopped = shard.wal.stopped()->to_string();
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
    file.merging = shard.merge_slot.tablet() == &tablet_ && shard.merge_slot.has_input(file.blob);
    result_.files.push_back(std::move(file));
  }

  static void note_dead(const DeadTable& dead, ReclaimFileState& file) {
    file.dead_from_us = dead.dead_from_us;
    file.goes = dead.goes;
    if (dead.masked) file.masked = dead.masked->blob();
  }

  Tablet& tablet_;
  const ReclaimEstimate& estimate_;
  ReclaimSnapshot result_;
  int64_t now_us_ = 0;
  int64_t grace_us_ = 0;
  int64_t lead_us_ = 0;
};

}  // namespace

std::string_view reclaim_reason_name(ReclaimReason reason) {
  switch (reason) {
    case ReclaimReason::none:
      return "none";
    case ReclaimReason::within_slack:
      return "within_slack";
    case ReclaimReason::margin:
      return "margin";
    case ReclaimReason::its_turn:
      return "its_turn";
    case ReclaimReason::undo_window:
      return "undo_window";
    case ReclaimReason::damaged:
      return "damaged";
    case ReclaimReason::failed:
      return "failed";
    case ReclaimReason::pinned_by_readers:
      return "pinned_by_readers";
    case ReclaimReason::pinned_by_backup:
      return "pinned_by_backup";
    case ReclaimReason::not_removed:
      return "not_removed";
    case ReclaimReason::shared:
      return "shared";
    case ReclaimReason::unknown:
      return "unknown";
  }
  return {};
}

ReclaimSnapshot reclaim_snapshot(Tablet& tablet, const ReclaimEstimate& estimate) {
  return Snapshot(tablet, estimate).take();
}

std::vector<ReclaimFile> reclaim_reasons(const ReclaimSnapshot& snapshot) {
  return Reasons(snapshot).take();
}

}  // namespace cellar::engine
