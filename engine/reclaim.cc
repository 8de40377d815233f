#include "engine/reclaim.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "engine/compact.h"
#include "engine/compaction/reclaim_picker.h"
#include "engine/flush.h"
#include "engine/install.h"
#include "engine/reclaim_outlook.h"
#include "engine/reclaim_view.h"
#include "engine/retention/dead_table.h"

namespace cellar::engine {
namespace {

constexpr int64_t kNeverUs = std::numeric_limits<int64_t>::max();

double bytes_on_disk(Tablet& tablet) {
  double bytes = 0;
  for (const TabletRun& run : tablet.version().runs) {
    for (const auto& table : run.tables) bytes += static_cast<double>(table->slice().bytes());
  }
  return bytes;
}

bool holds_deletes(const TableMeta& meta) { return meta.deletes() + meta.range_deletes != 0; }

TableRetention firm_rules(Tablet& tablet, int64_t now_us) {
  return TableRetention::firm(tablet.schema(), settled_of(tablet.version()), now_us);
}

void add_older(Beside& beside, const TimeBounds& bounds) {
  beside.older_min_us = std::min(beside.older_min_us, bounds.known ? bounds.min_timestamp_us : 0);
  beside.older_max_us =
      std::max(beside.older_max_us, bounds.known ? bounds.max_timestamp_us : kNeverUs);
}

// What lies beside `table`, which is of run `at`.
Beside beside(const Version& version, const TabletTable& table, size_t at) {
  Beside result{false, kNeverUs, std::numeric_limits<int64_t>::min()};
  const auto note = [&result](const TimeBounds& bounds) {
    result.any_expiry |= !bounds.known || bounds.latest_expiry_us != INT64_MIN;
  };
  for (const auto& memtable : version.memtables) note(memtable->entries.time_bounds());
  for (size_t i = 0; i < version.runs.size(); ++i) {
    for (const Ref<TabletTable>& other : version.runs[i].tables) {
      if (other.get() == &table) continue;
      note(other->meta().bounds);
      if (i > at) add_older(result, other->meta().bounds);
    }
  }
  return result;
}

// Wholly dead tables that mask nothing. One at a time: each changes what lies beside the others.
Ref<TabletTable> dead_table(Tablet& tablet, int64_t now_us) {
  const TableRetention firm = firm_rules(tablet, now_us);
  const Version& version = tablet.version();
  for (size_t i = 0; i < version.runs.size(); ++i) {
    for (const Ref<TabletTable>& table : version.runs[i].tables) {
      const TableMeta& meta = table->meta();
      if (holds_deletes(meta) || dead_from_us(firm, meta.bounds) > now_us) continue;
      if (masks_nothing(firm, meta.bounds, beside(version, *table, i), now_us)) return table;
    }
  }
  return nullptr;
}

Async<Result<bool>> take_away_one(Tablet& tablet) {
  AsyncMutex::Lock lock = co_await tablet.shard().compaction_lock.lock();
  CO_TRY(Installation installation, co_await Installation::begin(tablet, {}));
  const ShardContext& shard = tablet.shard();
  const int64_t now_us = shard.runtime.clock.now_us() - shard.options.removal_margin_us;
  const Ref<TabletTable> table = dead_table(tablet, now_us);
  if (!table) co_return false;
  TabletState state = tablet.state();
  std::vector<Ref<TabletTable>> inputs{table};
  CO_TRY(const uint64_t version, co_await installation.commit(state, inputs));
  tablet.compacted(inputs, {}, std::move(state), version);
  co_return true;
}

ReclaimInput input_of(const TableDeaths& table, int64_t now_us, const Tablet& tablet,
                      int64_t grace_us) {
  const int64_t leaves_us = now_us - tablet.margin_us();
  ReclaimInput input;
  input.run = table.run;
  input.bytes = static_cast<double>(table.bytes);
  input.dead = about_dead(table.by_time, leaves_us);
  input.overdue = about_dead(table.by_time, now_us - grace_us);
  input.alone = table.alone;
  input.damaged = table.table->is_damaged();
  for (const DeathByNewer& death : table.by_newer) {
    const std::span<const DeathSpan> span{&death.span, 1};
    input.killed.push_back(
        {death.killer, about_dead(span, now_us), about_dead(span, now_us - grace_us)});
  }
  return input;
}

// The best work of which something is overdue by `at_us`.
std::optional<ReclaimWork> next_work(Tablet& tablet, const ReclaimView& view, int64_t now_us,
                                     int64_t lead_us) {
  const int64_t grace_us = reclaim_grace_us(tablet) - lead_us;
  double overdue = 0;
  std::vector<ReclaimInput> inputs;
  for (const TableDeaths& table : view.tables) {
    overdue += table.dead(now_us - grace_us);
    inputs.push_back(input_of(table, now_us, tablet, grace_us));
  }
  const double dead = view.dead(now_us);
  if (!is_over_slack(tablet, static_cast<double>(view.bytes), dead, overdue)) return {};
  return pick_reclaim(inputs, TableRetention(tablet.schema()).any_counts());
}

// One piece of work against overdue bytes; false: there was none.
Async<Result<bool>> reclaim_overdue(Tablet& tablet) {
  const int64_t now_us = tablet.shard().runtime.clock.now_us();
  const int64_t lead_us = std::min(tablet.shard().reclaim_pace.work_us(bytes_on_disk(tablet)),
                                   tablet.schema().options.reclaim_within_us / 2);
  std::optional<ReclaimView> view(reclaim_view(tablet));
  const std::optional<ReclaimWork> work = next_work(tablet, *view, now_us, lead_us);
  if (!work) co_return false;
  if (work->table) {
    const BlobId blob = view->tables[*work->table].table->blob();
    view.reset();  // it would hold tables that are about to go
    CO_TRY_VOID(co_await rewrite_table(tablet, blob));
    co_return true;
  }
  uint64_t from = 0;
  for (const TableDeaths& table : view->tables) {
    if (table.run == work->first_run) from = table.run_number;
  }
  view.reset();
  // What is in memory could hold up what versions killed, and becomes a run of its own.
  const bool flush = work->flush || TableRetention(tablet.schema()).any_counts();
  if (flush) CO_TRY_VOID(co_await flush_tablet(tablet));
  if (flush && work->first_run == 0) from = UINT64_MAX;
  CO_TRY_VOID(co_await compact_runs_from(tablet, from));
  co_return true;
}

}  // namespace

int64_t reclaim_due_us(Tablet& tablet) {
  ReclaimOutlook& outlook = tablet.reclaim_outlook();
  return std::min(outlook.merge_due_us(tablet), outlook.slack_due_us(tablet));
}

Async<Result<void>> reclaim(Tablet& tablet) {
  while (true) {
    CO_TRY(const bool taken, co_await take_away_one(tablet));
    if (!taken) break;
  }
  const int64_t now_us = tablet.shard().runtime.clock.now_us();
  if (tablet.reclaim_outlook().merge_due_us(tablet) <= now_us) {
    CO_TRY_VOID(co_await flush_tablet(tablet));
    co_return co_await compact_runs_from(tablet, UINT64_MAX);
  }
  // Each piece of work leaves fewer dead bytes, or it was in vain and the next would be too.
  double dead = static_cast<double>(UINT64_MAX);
  while (true) {
    const double now_dead = reclaim_view(tablet).dead(tablet.shard().runtime.clock.now_us());
    if (now_dead >= dead) co_return Result<void>{};
    dead = now_dead;
    CO_TRY(const bool worked, co_await reclaim_overdue(tablet));
    if (!worked) co_return Result<void>{};
  }
}

}  // namespace cellar::engine
