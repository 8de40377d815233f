#include "engine/shard_figures.h"

#include <algorithm>

#include "engine/gc/reclaim_estimate.h"
#include "engine/gc/reclaim_forecast.h"
#include "engine/gc/reclaim_reason.h"
#include "engine/gc/shard_reclaim.h"
#include "engine/shard/shard_engine.h"
#include "engine/tablet_figures.h"

namespace cellar::engine {
namespace {

// Cost between two yields: a tablet with a fresh forecast costs one.
constexpr size_t kCostOfTurn = 64;
constexpr size_t kLookCost = 16;
// Tablets examined between two yields.
constexpr size_t kLooks = 8;

bool has_something_to_tell(const ReclaimFigures& of) {
  return of.dead_bytes + of.overdue_bytes + of.held_bytes + of.unknown_bytes + of.damaged_tables >
             0 ||
         of.file_due_us != INT64_MAX;
}

void add_cut_tables(const Tablet& tablet, std::vector<CutTable>& cut) {
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (!table->slice().is_cut()) continue;
      cut.push_back({tablet.schema().id, tablet.id(), table->blob(), table->meta().data_bytes,
                     table->slice().bytes()});
    }
  }
}

uint64_t zstd_bytes_of(const Tablet& tablet) {
  uint64_t bytes = 0;
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      if (table->meta().compression == Compression::zstd) bytes += table->slice().bytes();
    }
  }
  return bytes;
}

TabletFigures figures_of(Tablet& tablet) {
  TabletFigures figures;
  static_cast<ReclaimFigures&>(figures) = reclaim_forecast(tablet).figures(tablet);
  figures.tablet.id = tablet.id();
  for (const auto& memtable : tablet.version().memtables) {
    figures.unflushed_bytes += memtable->entries.content_bytes();
  }
  for (const TabletRun& run : tablet.version().runs) {
    figures.tables += run.tables.size();
    for (const Ref<TabletTable>& table : run.tables) figures.bytes += table->slice().bytes();
  }
  figures.bytes += figures.unflushed_bytes;
  figures.zstd_bytes = zstd_bytes_of(tablet);
  figures.runs = tablet.version().runs.size();
  figures.compaction = tablet.compaction();
  figures.reads = tablet.history().reads;
  figures.writes = tablet.history().writes;
  figures.left_cells = tablet.history().left_cells;
  figures.left_bytes = tablet.history().left_bytes;
  figures.last_stamp = tablet.last_stamp();
  figures.has_held_data =
      tablet.history().writes > 0 || tablet.memtables().has_unflushed() || figures.runs > 0;
  figures.sampled_rows = tablet.history().samples.rows();
  return figures;
}

RunningMerge merge_of(const MergeSlot& slot) {
  RunningMerge merge;
  if (slot.job() == nullptr) return merge;
  const Tablet& tablet = *slot.tablet();
  merge.tablet = tablet.id();
  merge.table = tablet.schema().id;
  for (const TabletRun& run : tablet.version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      merge.input_bytes += table->slice().bytes();
      merge.input_entries += table->meta().entries;
    }
  }
  merge.read_entries = slot.job()->stats().entries_in;
  merge.written_bytes = slot.job()->stats().bytes_out;
  return merge;
}

}  // namespace

ShardFigures ShardEngine::shard_figures() const {
  const BlockCache::Stats& cache = cache_.stats();
  const BlockLoader::Stats& loads = loader_.stats();
  ShardFigures figures;
  figures.row_hits = context_.rows.figures().hits;
  figures.row_misses = context_.rows.figures().misses;
  figures.cache_hits = cache.hits;
  figures.cache_packed_hits = cache.packed_hits;
  figures.cache_packed_bytes = cache_.packed_bytes();
  figures.cache_misses = cache.misses;
  figures.cache_evicted = cache.evicted;
  figures.device_reads = loads.reads;
  figures.device_read_bytes = loads.read_bytes;
  figures.damaged_blocks = loads.damaged;
  figures.failed_reads = loads.failed;
  figures.flushed_bytes = context_.counters.flushed_bytes;
  figures.compacted_bytes = context_.counters.compacted_bytes;
  figures.left_cells = context_.merges.left_cells();
  figures.left_bytes = context_.merges.left_bytes();
  for (const auto& [id, tablet] : tablets_) figures.zstd_bytes += zstd_bytes_of(*tablet);
  figures.merge = merge_of(context_.merge_slot);
  figures.scrub = scrubber_.figures();
  figures.memory = budget_.figures();
  return figures;
}

FlowFigures ShardEngine::flow_figures() const {
  const FlowControl& flow = context_.flow;
  const FlowPressures pressures = flow.pressures();
  FlowFigures figures{.memtables = pressures.memtables, .log = pressures.log, .held = flow.held()};
  for (const auto& [id, tablet] : tablets_) {
    figures.runs = std::max(figures.runs, tablet->writers().pressure());
    figures.runs_behind = std::max<uint64_t>(figures.runs_behind, tablet->runs_behind());
  }
  return figures;
}

Async<std::vector<TabletFigures>> ShardEngine::figures(std::vector<TabletId> ids) {
  std::vector<TabletFigures> all;
  size_t cost = 0;
  for (TabletId id : ids) {
    const auto it = tablets_.find(id);
    if (it == tablets_.end()) continue;  // moved or removed meanwhile
    cost += reclaim_forecast(*it->second).is_stale(*it->second) ? kLookCost : 1;
    all.push_back(figures_of(*it->second));
    all.back().verified = scrubber_.figures(*it->second);
    if (cost < kCostOfTurn) continue;
    cost = 0;
    co_await yield_now();
  }
  co_return all;
}

Async<ShardReclaim> ShardEngine::shard_reclaim(std::vector<TabletId> ids, size_t files) {
  ShardReclaim part(files);
  size_t looked_at = 0;
  for (const TabletId id : ids) {
    if (++looked_at % kLooks == 0) co_await yield_now();
    const auto it = tablets_.find(id);
    if (it == tablets_.end()) continue;  // moved or removed meanwhile
    Tablet& tablet = *it->second;
    part.figures.emplace_back(id, reclaim_forecast(tablet).figures(tablet));
    part.figures.back().second.verified = scrubber_.figures(tablet);
    if (files == 0) continue;
    add_cut_tables(tablet, part.cut);
    if (!has_something_to_tell(part.figures.back().second)) continue;
    const ReclaimEstimate estimate = reclaim_estimate(tablet);
    for (ReclaimFile& file : reclaim_reasons(reclaim_snapshot(tablet, estimate))) {
      part.files.add(std::move(file));
    }
  }
  add_read_files(context_, part.pinned);
  add_kept_files(deleter_, part.pinned);
  co_return part;
}

}  // namespace cellar::engine
