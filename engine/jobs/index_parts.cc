#include "engine/jobs/index_parts.h"

#include <algorithm>

namespace cellar::engine {
namespace {

constexpr uint32_t kFormatWithParts = 3;
// Of a whole index and its filter in memory, about (sstable/README.md).
constexpr uint64_t kBytesABlock = 73;
constexpr uint64_t kBitsARow = 10;

// What open tables will take when the inputs have gone and their output is open as a whole.
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
  const uint64_t now = shard.loader.cache().charged_bytes();
  return now - std::min(now, gone) + comes;
}

}  // namespace

size_t part_bytes_of_merge(const ShardContext& shard, const std::vector<TabletRun>& inputs) {
  const EngineOptions& options = shard.options;
  if (options.format < kFormatWithParts || options.index_parts == IndexParts::never) return 0;
  if (options.index_parts == IndexParts::always) return options.index_part_bytes;
  const uint64_t allowed = shard.loader.cache().budget_bytes() / kWholeShare;
  return charge_with_whole(shard, inputs) > allowed ? options.index_part_bytes : 0;
}

}  // namespace cellar::engine
