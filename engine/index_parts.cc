#include "engine/index_parts.h"

namespace cellar::engine {
namespace {

constexpr uint32_t kFormatWithParts = 3;

}  // namespace

size_t part_bytes_of_merge(const ShardContext& shard) {
  const EngineOptions& options = shard.options;
  if (options.format < kFormatWithParts || options.index_parts == IndexParts::never) return 0;
  const BlockCache& cache = shard.loader.cache();
  const bool too_much = cache.charged_bytes() > cache.budget_bytes() / kWholeShare;
  if (!too_much && options.index_parts == IndexParts::automatic) return 0;
  return options.index_part_bytes;
}

}  // namespace cellar::engine
