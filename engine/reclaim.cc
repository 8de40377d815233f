#include "engine/reclaim.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "engine/compact.h"
#include "engine/flush.h"
#include "engine/install.h"
#include "engine/retention/dead_table.h"

namespace cellar::engine {
namespace {

constexpr int64_t kNeverUs = std::numeric_limits<int64_t>::max();

int64_t add_saturating(int64_t a, int64_t b) { return a > kNeverUs - b ? kNeverUs : a + b; }

bool holds_deletes(const TableMeta& meta) { return meta.deletes() + meta.range_deletes != 0; }

TableRetention firm_rules(Tablet& tablet, int64_t now_us) {
  return TableRetention::firm(tablet.schema(), settled_of(tablet.version()), now_us);
}

// When the past rules can be forgotten: no change can be undone any more, and the margin has
// passed.
int64_t rules_due_us(Tablet& tablet) {
  const TableSchema& schema = tablet.schema();
  const CommitStamp changed = last_rule_change(schema);
  if (changed == CommitStamp{} || settled_of(tablet.version()) >= changed) return kNeverUs;
  int64_t last_us = static_cast<int64_t>(changed.value() / 1000);
  for (const FamilySchema& family : schema.families) {
    for (const PastRule& past : family.history) last_us = std::max(last_us, past.undo_until_us);
  }
  return add_saturating(last_us, schema.options.reclaim_within_us / 4);
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

// How long a dead cell may lie before it is overdue.
int64_t grace_us(Tablet& tablet) {
  return add_saturating(tablet.schema().options.reclaim_within_us,
                        tablet.shard().options.removal_margin_us);
}

struct Overdue {
  uint64_t live_bytes = 0;
  uint64_t overdue_bytes = 0;
  uint64_t worst_run = 0;      // where most of it lies
  int64_t next_us = kNeverUs;  // when a cell that is not overdue yet will be
  bool any_expiry = false;
};

Overdue overdue_of(Tablet& tablet) {
  const int64_t now_us = tablet.shard().runtime.clock.now_us();
  const int64_t grace = grace_us(tablet);
  const TableRetention firm = firm_rules(tablet, now_us);
  Overdue sum;
  uint64_t worst_bytes = 0;
  for (const TabletRun& run : tablet.version().runs) {
    uint64_t overdue = 0;
    for (const Ref<TabletTable>& table : run.tables) {
      const TimeBounds& bounds = table->meta().bounds;
      const uint64_t bytes = table->slice().bytes();
      sum.any_expiry |= !bounds.known || bounds.latest_expiry_us != INT64_MIN;
      sum.live_bytes += bytes - dead_bytes(firm, bounds, bytes, now_us);
      overdue += dead_bytes(firm, bounds, bytes, now_us - grace);
      const int64_t at_us = add_saturating(first_death_us(firm, bounds), grace);
      if (bounds.has_cells()) sum.next_us = std::min(sum.next_us, std::max(at_us, now_us));
    }
    sum.overdue_bytes += overdue;
    if (overdue <= worst_bytes) continue;
    worst_bytes = overdue;
    sum.worst_run = run.number;
  }
  return sum;
}

bool is_over_slack(Tablet& tablet, const Overdue& overdue) {
  const double allowed =
      tablet.schema().options.dead_slack * static_cast<double>(overdue.live_bytes);
  return overdue.overdue_bytes > 0 && static_cast<double>(overdue.overdue_bytes) > allowed;
}

// When overdue cells are to be looked at: now, when they take too much; else when there may be
// more.
int64_t slack_due_us(Tablet& tablet) {
  const Overdue overdue = overdue_of(tablet);
  const int64_t now_us = tablet.shard().runtime.clock.now_us();
  if (is_over_slack(tablet, overdue)) return now_us;
  if (overdue.next_us > now_us) return overdue.next_us;  // INT64_MAX: none ever will
  return add_saturating(now_us, tablet.schema().options.reclaim_within_us / 4);
}

// When a merge of all runs has something to do that nothing less does.
int64_t merge_due_us(Tablet& tablet) {
  const ShardContext& shard = tablet.shard();
  int64_t due_us = rules_due_us(tablet);
  const TableRetention firm = firm_rules(tablet, shard.runtime.clock.now_us());
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      // Deletes alone do not die; they go in merges.
      const TimeBounds& bounds = table->meta().bounds;
      if (!bounds.has_cells() && !bounds.has_tokens()) continue;
      due_us = std::min(due_us, dead_from_us(firm, bounds));
    }
  }
  return add_saturating(due_us, shard.options.removal_margin_us);
}

}  // namespace

int64_t reclaim_due_us(Tablet& tablet) {
  return std::min(merge_due_us(tablet), slack_due_us(tablet));
}

DeadFigures dead_figures(Tablet& tablet) {
  const int64_t now_us = tablet.shard().runtime.clock.now_us();
  const TableRetention firm = firm_rules(tablet, now_us);
  DeadFigures figures;
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      const TimeBounds& bounds = table->meta().bounds;
      if (!bounds.has_cells()) continue;
      const uint64_t bytes = table->slice().bytes();
      figures.dead_bytes += dead_bytes(firm, bounds, bytes, now_us);
      figures.overdue_bytes += dead_bytes(firm, bounds, bytes, now_us - grace_us(tablet));
      const int64_t first_us = first_death_us(firm, bounds);
      if (first_us <= now_us) figures.oldest_death_us = std::min(figures.oldest_death_us, first_us);
    }
  }
  return figures;
}

Async<Result<void>> reclaim(Tablet& tablet) {
  while (true) {
    CO_TRY(const bool taken, co_await take_away_one(tablet));
    if (!taken) break;
  }
  const bool merge = merge_due_us(tablet) <= tablet.shard().runtime.clock.now_us();
  const Overdue overdue = overdue_of(tablet);
  if (!merge && !is_over_slack(tablet, overdue)) co_return Result<void>{};
  const bool alone = !merge && !overdue.any_expiry && !TableRetention(tablet.schema()).any_counts();
  if (alone) co_return co_await rewrite_run(tablet, overdue.worst_run);
  CO_TRY_VOID(co_await flush_tablet(tablet));
  co_return co_await compact_fully(tablet);
}

}  // namespace cellar::engine
