#include "engine/jobs/compact.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "engine/jobs/install.h"
#include "engine/jobs/output_format.h"
#include "engine/jobs/plan_merge.h"
#include "engine/read/run_iterator.h"
#include "engine/tablet/run_shapes.h"
#include "io/base/check.h"

namespace cellar::engine {
namespace {

// Neighbouring runs of a version, newest first.
using Runs = std::vector<TabletRun>;

void add_input(MergePlan& plan, const TabletRun& run) {
  std::vector<const TableSlice*> slices;
  for (const Ref<TabletTable>& table : run.tables) {
    if (table->slice().may_have_entries()) slices.push_back(&table->slice());
    const std::vector<RangeTombstone>& ranges = table->slice().range_deletes();
    plan.range_deletes.insert(plan.range_deletes.end(), ranges.begin(), ranges.end());
  }
  if (slices.empty()) return;
  plan.inputs.push_back(
      std::make_unique<RunIterator>(std::move(slices), TableIteratorOptions::for_compaction()));
}

std::vector<BlobId> blobs_of(const std::vector<Ref<TabletTable>>& tables) {
  std::vector<BlobId> blobs;
  for (const Ref<TabletTable>& table : tables) blobs.push_back(table->blob());
  return blobs;
}

bool has_range_deletes(const TabletRun& run) {
  return std::ranges::any_of(
      run.tables, [](const Ref<TabletTable>& table) { return table->meta().range_deletes > 0; });
}

// Runs of the version with the same numbers, from `first` on, hold more tables than `runs`, and
// these may depend on each other: tables of one run share nothing but their range deletes.
bool is_part(const Runs& runs, std::vector<TabletRun>::const_iterator first) {
  const TabletRun& whole = *first;
  bool part = false;
  for (const TabletRun& run : runs) part |= run.tables.size() < (first++)->tables.size();
  CHECK(!part || runs.size() == 1, "{} runs are merged without some of their tables", runs.size());
  return part && has_range_deletes(whole);
}

size_t tables_of(const Version& version) {
  size_t count = 0;
  for (const TabletRun& run : version.runs) count += run.tables.size();
  return count;
}

// The pace of a merge of `bytes`: the share planned by the shard's queue, and at most reclaim_share
// of the disk's write rate.
PaceTask reclaim_task(const Tablet& tablet, const ReclaimPlace& place, uint64_t bytes) {
  const ShardContext& shard = tablet.shard();
  const double share = tablet.schema().options.reclaim_share;
  PaceTask task;
  task.share = std::max(place.share, share);
  task.work_us = static_cast<double>(bytes) * shard.merge_slot.speed().us_per_byte();
  const double write_rate = shard.files.blobs.write_rate();
  if (write_rate > 0) task.write_rate = share * write_rate;
  if (place.end_by_us != INT64_MAX) {
    const int64_t left_us = place.end_by_us - shard.runtime.clock.now_us();
    task.end_by_us = shard.runtime.timers.now_us() + std::max<int64_t>(left_us, 0);
  }
  return task;
}

bool counts_versions(const MergePlan& plan) {
  return DropPolicy(plan.schema, plan.tablet_gc_watermark, plan.facts).retention().any_counts();
}

// What a merge was for.
struct MergePurpose {
  MergeReason reason = MergeReason::runs;
  std::optional<ReclaimPlace> reclaims;  // paced as reclaiming
};

struct MergeInputs {
  std::vector<Ref<TabletTable>> tables;
  uint64_t bytes = 0;
  uint64_t file_bytes = 0;
  uint64_t raw_bytes = 0;  // of keys and values, uncompressed, in these files
  uint64_t entries = 0;
};

MergeInputs inputs_of(const Runs& runs) {
  MergeInputs inputs;
  for (const TabletRun& run : runs) {
    inputs.tables.insert(inputs.tables.end(), run.tables.begin(), run.tables.end());
    for (const Ref<TabletTable>& table : run.tables) {
      inputs.bytes += table->slice().bytes();
      inputs.file_bytes += table->meta().file_bytes;
      inputs.raw_bytes += table->meta().key_bytes + table->meta().value_bytes;
      inputs.entries += table->meta().entries;
    }
  }
  return inputs;
}

MergeRecord record_of(const Tablet& tablet, MergeReason reason, const MergeInputs& inputs,
                      const MergeStats& stats) {
  MergeRecord record;
  record.tablet = tablet.id();
  record.table = tablet.schema().id;
  record.reason = reason;
  record.ended_us = tablet.shard().runtime.clock.now_us();
  record.tables_in = inputs.tables.size();
  record.bytes_in = inputs.bytes;
  record.bytes_out = stats.bytes_out;
  record.left_cells = stats.cells_left;
  const double stored = inputs.raw_bytes == 0 ? 0
                                              : static_cast<double>(inputs.file_bytes) /
                                                    static_cast<double>(inputs.raw_bytes);
  record.left_bytes =
      static_cast<uint64_t>(static_cast<double>(stats.bytes_left) * std::min(stored, 1.0));
  return record;
}

// REQUIRES: a turn of the merge slot; `version` is the tablet's, so that only a flush may
// change it meanwhile, by adding newer runs. Tables may be left out of a single run, because they
// do not overlap; where versions count nothing is done then if the run has range deletes, because
// one in another table may decide which cells are dead. A merge that does not reclaim uses all the
// time available.
Async<Result<void>> merge_runs(Tablet& tablet, Ref<const Version> version, Runs runs,
                               MergePurpose purpose) {
  ShardContext& shard = tablet.shard();
  const int64_t began_us = shard.runtime.timers.now_us();
  const auto is_first = [&runs](const TabletRun& run) { return run.number == runs.front().number; };
  const auto first = std::find_if(version->runs.begin(), version->runs.end(), is_first);
  const auto newer_runs = static_cast<size_t>(first - version->runs.begin());
  MergePlan plan =
      plan_merge(tablet, *version, version->memtables.size() + newer_runs, runs.size());
  plan.part_of_run = is_part(runs, first);
  if (plan.part_of_run && counts_versions(plan)) co_return Result<void>{};
  for (const TabletRun& run : runs) add_input(plan, run);
  plan.run = runs.front().number;
  plan.compression = compression_of_merge(tablet, plan.facts, runs);
  plan.part_bytes = part_bytes_of_merge(shard, runs);
  const MergeFacts facts = plan.facts;
  const uint64_t schema_version = plan.schema.version;
  const MergeInputs inputs = inputs_of(runs);
  plan.entries = inputs.entries;
  const bool whole = inputs.tables.size() == tables_of(*version);
  for (const Ref<TabletTable>& input : inputs.tables) {
    if (input->is_damaged()) co_return std::unexpected(*input->damage());
  }
  version = nullptr;  // its memtables may be flushed long before the merge ends
  const auto& reclaims = purpose.reclaims;
  Pace pace(shard.runtime.timers,
            reclaims ? reclaim_task(tablet, *reclaims, inputs.bytes) : PaceTask{});
  plan.pace = &pace;
  plan.background = &shard.background;
  MergeJob job(shard.files.blobs, shard.files.ids, std::move(plan));
  const MergeSlot::Running running(shard.merge_slot, tablet, job, reclaims ? &pace : nullptr,
                                   blobs_of(inputs.tables));
  CO_TRY(std::vector<TableMeta> outputs, co_await job.run());
  shard.merge_slot.speed().learn(pace.worked_us(), inputs.bytes);
  shard.counters.compacted_bytes += job.stats().bytes_out;
  CO_TRY(Installation installation, co_await Installation::begin(tablet, std::move(outputs)));
  if (is_outdated(facts, tablet)) {
    co_return fail(Errc::aborted, "a rule of tablet {} was changed meanwhile", tablet.id());
  }
  TabletState state = tablet.state();
  CO_TRY(const uint64_t manifest_version, co_await installation.commit(state, inputs.tables));
  tablet.compacted(inputs.tables, installation.tables(), std::move(state), manifest_version);
  if (whole) tablet.orphans_merged_away(schema_version);
  ++shard.counters.compactions;
  MergeRecord record = record_of(tablet, purpose.reason, inputs, job.stats());
  record.took_us = shard.runtime.timers.now_us() - began_us;
  record.runs = runs.size();
  record.tables_out = installation.tables().size();
  tablet.departed(record);
  shard.merges.add(record);
  co_return Result<void>{};
}

// A cell may have died by age or as an excess version, or a token may have expired.
bool may_age(const TableSchema& schema, const Version& version) {
  const auto& tables = version.runs.front().tables;
  return std::any_of(schema.families.begin(), schema.families.end(),
                     [](const FamilySchema& f) {
                       return !f.rule.keeps_everything() || !f.history.empty();
                     }) ||
         std::any_of(tables.begin(), tables.end(), [](const Ref<TabletTable>& table) {
           const TimeBounds& bounds = table->meta().bounds;
           return bounds.latest_expiry_us != INT64_MIN || bounds.has_tokens();
         });
}

// A single run without droppable entries, including rows of other tablets, is fully merged.
bool is_merged(const TableSchema& schema, const Version& version) {
  if (version.runs.size() != 1) return version.runs.empty();
  if (may_age(schema, version)) return false;
  const auto& tables = version.runs.front().tables;
  return std::all_of(tables.begin(), tables.end(), [](const Ref<TabletTable>& table) {
    return !table->slice().is_cut() && table->meta().deletes() == 0 &&
           table->meta().range_deletes == 0;
  });
}

bool nothing_to_merge(const Tablet& tablet, const Version& version) {
  const bool orphans = tablet.orphans().may_remain && !version.runs.empty();
  return is_merged(tablet.schema(), version) && !orphans;
}

// A merge saves the rows of such a table, which the next start could not open, or its indexes.
bool is_saved_by_merge(const Version& version) {
  return std::ranges::any_of(version.runs, [](const TabletRun& run) {
    return std::ranges::any_of(run.tables, [](const Ref<TabletTable>& table) {
      const TableReader& reader = table->slice().table();
      return reader.tail_is_damaged() || reader.sections_are_damaged();
    });
  });
}

}  // namespace

Async<Result<bool>> compact_step(Tablet& tablet) {
  CO_TRY(const MergeSlot::Turn turn, co_await tablet.shard().merge_slot.turn(tablet));
  co_await tablet.rule_hold().rules_known();
  if (tablet.obsolete()) co_return false;
  Ref<const Version> version = tablet.pin();
  const std::optional<RunWindow> window = pick_merge_of(tablet.run_shapes());
  if (!window) co_return false;
  // The window counts from the oldest run, which is the version's last.
  const auto end = version->runs.end() - static_cast<ptrdiff_t>(window->first);
  Runs runs(end - static_cast<ptrdiff_t>(window->count), end);
  MergePurpose purpose{MergeReason::runs, std::nullopt};
  CO_TRY_VOID(co_await merge_runs(tablet, std::move(version), std::move(runs), purpose));
  co_return true;
}

Async<Result<void>> compact_window(Tablet& tablet, size_t first, size_t count) {
  CO_TRY(const MergeSlot::Turn turn, co_await tablet.shard().merge_slot.turn(tablet));
  co_await tablet.rule_hold().rules_known();
  if (tablet.obsolete()) co_return fail(Errc::aborted, "tablet {} was dropped", tablet.id());
  Ref<const Version> version = tablet.pin();
  const size_t all = version->runs.size();
  if (all == 0) co_return Result<void>{};
  const auto begin = version->runs.begin() + static_cast<ptrdiff_t>(first % all);
  const size_t most = all - first % all;
  Runs runs(begin, begin + static_cast<ptrdiff_t>(1 + count % most));
  MergePurpose purpose{MergeReason::request, std::nullopt};
  co_return co_await merge_runs(tablet, std::move(version), std::move(runs), purpose);
}

Async<Result<void>> rewrite_table(Tablet& tablet, BlobId blob, ReclaimPlace place) {
  CO_TRY(const MergeSlot::Turn turn, co_await tablet.shard().merge_slot.turn_to_reclaim(tablet));
  co_await tablet.rule_hold().rules_known();
  if (tablet.obsolete()) co_return fail(Errc::aborted, "tablet {} was dropped", tablet.id());
  Ref<const Version> version = tablet.pin();
  for (const TabletRun& run : version->runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (table->blob() != blob) continue;
      Runs only{TabletRun{run.number, {table}}};
      MergePurpose purpose{MergeReason::dead_table, place};
      co_return co_await merge_runs(tablet, std::move(version), std::move(only), purpose);
    }
  }
  co_return Result<void>{};
}

Async<Result<void>> rewrite_for_indexes(Tablet& tablet, BlobId blob) {
  CO_TRY(const MergeSlot::Turn turn, co_await tablet.shard().merge_slot.turn_to_reclaim(tablet));
  co_await tablet.rule_hold().rules_known();
  if (tablet.obsolete()) co_return fail(Errc::aborted, "tablet {} was dropped", tablet.id());
  Ref<const Version> version = tablet.pin();
  const bool counts = TableRetention(tablet.schema()).any_counts();
  for (const TabletRun& run : version->runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (table->blob() != blob) continue;
      const bool whole = counts && has_range_deletes(run);
      Runs only{whole ? run : TabletRun{run.number, {table}}};
      MergePurpose purpose{MergeReason::index, ReclaimPlace{}};
      co_return co_await merge_runs(tablet, std::move(version), std::move(only), purpose);
    }
  }
  co_return Result<void>{};
}

Async<Result<void>> compact_runs_from(Tablet& tablet, uint64_t number, ReclaimPlace place) {
  CO_TRY(const MergeSlot::Turn turn, co_await tablet.shard().merge_slot.turn_to_reclaim(tablet));
  co_await tablet.rule_hold().rules_known();
  if (tablet.obsolete()) co_return fail(Errc::aborted, "tablet {} was dropped", tablet.id());
  Ref<const Version> version = tablet.pin();
  const auto first = std::find_if(version->runs.begin(), version->runs.end(),
                                  [number](const TabletRun& r) { return r.number <= number; });
  Runs runs(first, version->runs.end());
  if (runs.empty()) co_return Result<void>{};
  if (runs.size() == version->runs.size() && nothing_to_merge(tablet, *version)) {
    co_return Result<void>{};
  }
  MergePurpose purpose{MergeReason::dead_runs, place};
  co_return co_await merge_runs(tablet, std::move(version), std::move(runs), purpose);
}

Async<Result<void>> compact_fully(Tablet& tablet) {
  CO_TRY(const MergeSlot::Turn turn, co_await tablet.shard().merge_slot.turn(tablet));
  co_await tablet.rule_hold().rules_known();
  if (tablet.obsolete()) co_return fail(Errc::aborted, "tablet {} was dropped", tablet.id());
  Ref<const Version> version = tablet.pin();
  if (nothing_to_merge(tablet, *version) && !is_saved_by_merge(*version) &&
      (version->runs.empty() || !wants_other_compression(tablet, version->runs.back()))) {
    co_return Result<void>{};
  }
  Runs all = version->runs;
  MergePurpose purpose{MergeReason::request, std::nullopt};
  co_return co_await merge_runs(tablet, std::move(version), std::move(all), purpose);
}

}  // namespace cellar::engine
