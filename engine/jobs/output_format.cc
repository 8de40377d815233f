#include "engine/jobs/output_format.h"

#include <algorithm>

namespace cellar::engine {
namespace {

bool may_use_zstd(const TableOptions& options) {
  return options.compression != Compression::none &&
         options.bottom_compression != BottomCompression::same;
}

bool are_large(const ShardContext& shard, const std::vector<TabletRun>& inputs) {
  uint64_t bytes = 0;
  for (const TabletRun& run : inputs) {
    for (const Ref<TabletTable>& table : run.tables) bytes += table->slice().bytes();
  }
  return bytes >= kLargeMemtables * shard.options.memtable_bytes &&
         shard.files.open_tables.file_bytes() > shard.files.loader.cache().nominal_bytes();
}

// By a sample of the inputs' blocks. A cache that may be larger for the moment holds more of them
// than the nominal one would; the difference does not count.
bool are_hot(const BlockCache& cache, const std::vector<TabletRun>& inputs) {
  size_t blocks = 0;
  for (const TabletRun& run : inputs) {
    for (const Ref<TabletTable>& table : run.tables) {
      blocks += table->slice().table().blocks();
    }
  }
  const size_t step = std::max<size_t>(1, blocks / kHeatSampleBlocks);
  size_t sampled = 0;
  size_t cached = 0;
  for (const TabletRun& run : inputs) {
    for (const Ref<TabletTable>& table : run.tables) {
      TableReader& reader = table->slice().table();
      for (size_t i = 0; i < reader.blocks(); i += step, ++sampled) {
        cached += reader.has_cached_block(i);
      }
    }
  }
  const double nominal =
      static_cast<double>(cache.nominal_bytes()) / static_cast<double>(cache.budget_bytes());
  return static_cast<double>(cached * kHotDivisor) * std::min(nominal, 1.0) >=
         static_cast<double>(std::max<size_t>(sampled, 1));
}

}  // namespace

Compression compression_of_merge(Tablet& tablet, const MergeFacts& facts,
                                 const std::vector<TabletRun>& inputs) {
  const TableOptions& options = tablet.schema().options;
  const ShardContext& shard = tablet.shard();
  if (!facts.bottom || !may_use_zstd(options)) return options.compression;
  if (options.bottom_compression == BottomCompression::zstd) return Compression::zstd;
  const bool pays = are_large(shard, inputs) && tablet.runs_behind() == 0 &&
                    !are_hot(shard.files.loader.cache(), inputs);
  return pays ? Compression::zstd : options.compression;
}

bool wants_other_compression(Tablet& tablet, const TabletRun& bottom) {
  const TableOptions& options = tablet.schema().options;
  if (options.bottom_compression == BottomCompression::automatic) return false;
  const bool zstd = may_use_zstd(options);
  return std::any_of(bottom.tables.begin(), bottom.tables.end(),
                     [zstd](const Ref<TabletTable>& table) {
                       return (table->meta().compression == Compression::zstd) != zstd;
                     });
}

namespace {

// Approximate size of a complete index and filter in memory (sstable/README.md).
constexpr uint64_t kBytesABlock = 73;
constexpr uint64_t kBitsARow = 10;

// The bytes of open tables after the inputs are closed and their output is open, not partitioned.
uint64_t charge_with_whole(const ShardContext& shard, const std::vector<TabletRun>& inputs) {
  uint64_t gone = 0;
  uint64_t comes = 0;
  for (const TabletRun& run : inputs) {
    for (const Ref<TabletTable>& table : run.tables) {
      const TableMeta& meta = table->meta();
      gone += table->slice().table().memory_bytes();
      comes += meta.blocks * kBytesABlock + meta.rows * kBitsARow / 8;
    }
  }
  const uint64_t now = shard.files.loader.cache().charged_bytes();
  return now - std::min(now, gone) + comes;
}

}  // namespace

size_t part_bytes_of_merge(const ShardContext& shard, const std::vector<TabletRun>& inputs) {
  const EngineOptions& options = shard.options;
  if (options.index_parts == IndexParts::never) return 0;
  if (options.index_parts == IndexParts::always) return options.index_part_bytes;
  const uint64_t allowed = shard.files.loader.cache().nominal_bytes() / kWholeShare;
  return charge_with_whole(shard, inputs) > allowed ? options.index_part_bytes : 0;
}

}  // namespace cellar::engine
