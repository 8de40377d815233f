#include "engine/shard_figures.h"

#include <algorithm>

#include "engine/shard_engine.h"
#include "engine/tablet_figures.h"

namespace cellar::engine {
namespace {

RunningMerge merge_of(const ShardContext& shard) {
  RunningMerge merge;
  if (shard.compaction == nullptr || shard.compacting == nullptr) return merge;
  merge.tablet = shard.compacting->id();
  merge.table = shard.compacting->schema().id;
  for (const TabletRun& run : shard.compacting->version().runs) {
    for (const Ref<TabletTable>& table : run.tables) {
      merge.input_bytes += table->slice().bytes();
      merge.input_entries += table->meta().entries;
    }
  }
  merge.read_entries = shard.compaction->stats().entries_in;
  merge.written_bytes = shard.compaction->stats().bytes_out;
  return merge;
}

}  // namespace

ShardFigures shard_figures(const Engine& engine) {
  const auto& shard = static_cast<const ShardEngine&>(engine);  // there is no other body
  const BlockCache::Stats& cache = shard.cache_stats();
  const BlockLoader::Stats& loads = shard.load_stats();
  ShardFigures figures;
  figures.cache_hits = cache.hits;
  figures.cache_packed_hits = cache.packed_hits;
  figures.cache_packed_bytes = shard.cache_packed_bytes();
  figures.cache_misses = cache.misses;
  figures.cache_evicted = cache.evicted;
  figures.device_reads = loads.reads;
  figures.device_read_bytes = loads.read_bytes;
  figures.damaged_blocks = loads.damaged;
  figures.failed_reads = loads.failed;
  figures.flushed_bytes = shard.context().flushed_bytes;
  figures.compacted_bytes = shard.context().compacted_bytes;
  for (const auto& [id, tablet] : shard.tablets()) figures.zstd_bytes += zstd_bytes_of(*tablet);
  figures.merge = merge_of(shard.context());
  return figures;
}

FlowFigures flow_figures(const Engine& engine) {
  const auto& shard = static_cast<const ShardEngine&>(engine);  // there is no other body
  const FlowControl& flow = shard.context().flow;
  const FlowPressures pressures = flow.pressures();
  FlowFigures figures{.memtables = pressures.memtables, .log = pressures.log, .held = flow.held()};
  for (const auto& [id, tablet] : shard.tablets()) {
    figures.runs = std::max(figures.runs, tablet->writers().pressure());
    figures.runs_behind = std::max<uint64_t>(figures.runs_behind, tablet->runs_behind());
  }
  return figures;
}

}  // namespace cellar::engine
