#include "engine/gc/reclaim.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "engine/gc/dead_tables.h"
#include "engine/gc/reclaim_estimate.h"
#include "engine/gc/reclaim_forecast.h"
#include "engine/gc/reclaim_reason.h"
#include "engine/jobs/compact.h"
#include "engine/jobs/flush.h"
#include "engine/jobs/install.h"

namespace cellar::engine {
namespace {

// Wholly dead tables that mask nothing. All of them can be removed together: a removal can only
// reduce what lies beside another table and what that one masks.
std::vector<Ref<TabletTable>> tables_to_go(Tablet& tablet) {
  std::vector<Ref<TabletTable>> tables;
  for (DeadTable& dead : dead_tables(tablet, tablet.shard().runtime.clock.now_us())) {
    if (dead.goes) tables.push_back(std::move(dead.table));
  }
  return tables;
}

// The number of the newest run with a table that is wholly dead and masks something.
std::optional<uint64_t> newest_masking_run(Tablet& tablet) {
  const int64_t now_us = tablet.shard().runtime.clock.now_us();
  for (const DeadTable& dead : dead_tables(tablet, now_us)) {
    const bool may_leave = dead.dead_from_us <= now_us - tablet.margin_us();
    if (!dead.goes && may_leave) return dead.table->meta().run;
  }
  return std::nullopt;
}

// Merges dead tables that mask something, and past rules. Where versions do not count, data newer
// than a dead table does not affect what it masks, and is not merged.
Async<Result<void>> merge_away(Tablet& tablet) {
  const bool counts = TableRetention(tablet.schema()).any_counts();
  const std::optional<uint64_t> run = counts ? std::nullopt : newest_masking_run(tablet);
  if (run) co_return co_await compact_runs_from(tablet, *run, ReclaimState::of(tablet).place);
  CO_TRY_VOID(co_await flush_tablet(tablet));
  co_return co_await compact_runs_from(tablet, UINT64_MAX, ReclaimState::of(tablet).place);
}

MergeRecord removal_of(const Tablet& tablet, const std::vector<Ref<TabletTable>>& tables) {
  MergeRecord record;
  record.tablet = tablet.id();
  record.table = tablet.schema().id;
  record.reason = MergeReason::removal;
  record.ended_us = tablet.shard().runtime.clock.now_us();
  record.tables_in = tables.size();
  std::set<uint64_t> runs;
  for (const Ref<TabletTable>& table : tables) {
    runs.insert(table->meta().run);
    record.bytes_in += table->slice().bytes();
    record.left_cells += table->meta().entries;
  }
  record.runs = runs.size();
  record.left_bytes = record.bytes_in;
  return record;
}

// Removes them in one edit; false: there were none.
Async<Result<bool>> take_away_dead(Tablet& tablet) {
  CO_TRY(const MergeSlot::Turn turn, co_await tablet.shard().merge_slot.turn_to_reclaim(tablet));
  const Timers& timers = tablet.shard().runtime.timers;
  const int64_t began_us = timers.now_us();
  CO_TRY(Installation installation, co_await Installation::begin(tablet, {}));
  co_await tablet.rule_hold().rules_known();
  const std::vector<Ref<TabletTable>> inputs = tables_to_go(tablet);
  if (inputs.empty()) co_return false;
  TabletState state = tablet.state();
  CO_TRY(const uint64_t version, co_await installation.commit(state, inputs));
  tablet.compacted(inputs, {}, std::move(state), version);
  const int64_t took_us = timers.now_us() - began_us;
  tablet.shard().reclaim.edit_us += took_us;
  MergeRecord record = removal_of(tablet, inputs);
  record.took_us = took_us;
  tablet.departed(record);
  tablet.shard().merges.add(record);
  co_return true;
}

bool any_damaged(const Tablet& tablet) {
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (table->is_damaged()) return true;
    }
  }
  return false;
}

// One step of work: a table to rewrite, or the newest run of a merge down to the oldest.
struct Piece {
  std::optional<BlobId> table;
  uint64_t from_run = 0;
  bool flush = false;  // flush the memtables first
};

// Bytes dead at a moment. Work that leaves as many of them was in vain, and repeating it would be
// too. Later deaths do not count.
struct Seen {
  int64_t at_us = INT64_MIN;
  double dead = 0;
};

// Divisor of reclaim_within: younger memtable entries have not killed anything that is overdue.
// While flushes are queued they are left to them, because this work would have to wait for the
// queue.
constexpr int64_t kYoung = 4;

bool may_stay_in_memory(Tablet& tablet) {
  const ShardContext& shard = tablet.shard();
  if (shard.memory.gauge.frozen_bytes == 0) return false;
  CommitStamp oldest = kMaxStamp;
  for (const auto& memtable : tablet.version().memtables) {
    if (memtable->entries.empty()) continue;
    oldest = std::min(oldest, memtable->entries.min_stamp());
  }
  const int64_t age_us = shard.runtime.clock.now_us() - static_cast<int64_t>(oldest.value() / 1000);
  return age_us < tablet.schema().options.reclaim_within_us / kYoung;
}

Piece piece_of(Tablet& tablet, const ReclaimEstimate& estimate, const ReclaimWork& work) {
  Piece piece;
  if (work.table) {
    piece.table = estimate.tables[*work.table].table->blob();
    return piece;
  }
  for (const TableDeaths& table : estimate.tables) {
    if (table.run == work.first_run) piece.from_run = table.run_number;
  }
  // Entries in memory may keep what versions killed, so they are flushed into a run first.
  piece.flush =
      (work.flush || TableRetention(tablet.schema()).any_counts()) && !may_stay_in_memory(tablet);
  if (work.first_run == 0) piece.from_run = UINT64_MAX;
  return piece;
}

// The best work, if more is overdue than the slack allows, or will be before the work ends.
std::optional<Piece> next_piece(Tablet& tablet, Seen& seen) {
  const ReclaimEstimate estimate = reclaim_estimate(tablet);
  const ReclaimSnapshot snapshot = reclaim_snapshot(tablet, estimate);
  if (!snapshot.due) return std::nullopt;
  const std::vector<ReclaimInput> inputs(snapshot.files.begin(), snapshot.files.end());
  const std::optional<ReclaimWork> work = pick_reclaim(inputs, snapshot.counts);
  if (!work) {
    ReclaimState::of(tablet).attempt.ineffective = true;  // damaged tables prevent all work
    return std::nullopt;
  }
  if (seen.at_us != INT64_MIN && estimate.dead(seen.at_us) >= seen.dead) {
    ReclaimState::of(tablet).attempt.ineffective = true;
    return std::nullopt;
  }
  seen = {snapshot.now_us, estimate.dead(snapshot.now_us)};
  return piece_of(tablet, estimate, *work);
}

// The work that is due.
Async<Result<void>> reclaim_step(Tablet& tablet) {
  while (true) {  // a removed table may have been all that another one masked
    CO_TRY(const bool taken, co_await take_away_dead(tablet));
    if (!taken) break;
  }
  const int64_t now_us = tablet.shard().runtime.clock.now_us();
  const bool merge_due = reclaim_forecast(tablet).merge_due_us(tablet) <= now_us;
  // A merge of all runs would read the damaged table, and fail.
  ReclaimState::of(tablet).attempt.ineffective = merge_due && any_damaged(tablet);
  if (merge_due && !any_damaged(tablet)) {
    co_return co_await merge_away(tablet);
  }
  Seen seen;
  while (const std::optional<Piece> piece = next_piece(tablet, seen)) {
    if (piece->flush) CO_TRY_VOID(co_await flush_tablet(tablet));
    if (piece->table) {
      CO_TRY_VOID(co_await rewrite_table(tablet, *piece->table, ReclaimState::of(tablet).place));
    } else {
      CO_TRY_VOID(
          co_await compact_runs_from(tablet, piece->from_run, ReclaimState::of(tablet).place));
    }
  }
  co_return Result<void>{};
}

}  // namespace

Async<Result<void>> reclaim(Tablet& tablet) {
  ReclaimAttempt& attempt = ReclaimState::of(tablet).attempt;
  const int64_t within_us = tablet.schema().options.reclaim_within_us;
  attempt.at_us = tablet.shard().runtime.clock.now_us();
  attempt.not_before_us = attempt.at_us + ReclaimAttempt::retry_us(within_us);
  auto pass = tablet.gate().enter();
  if (!pass) co_return Result<void>{};
  auto done = co_await reclaim_step(tablet);
  attempt.failure.reset();
  if (!done && !is_given_up(done.error())) attempt.failure = done.error();
  if (done && !attempt.ineffective) {
    attempt.not_before_us = attempt.at_us + ReclaimAttempt::again_us(within_us);
  }
  co_return done;
}

}  // namespace cellar::engine
