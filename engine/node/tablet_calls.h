// TabletCalls: calls to the tablets of a table, or of all, on their shards. They run on the calling
// shard, which finds the tablets in its own table map, and change nothing in the catalog.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "engine/files/obsolete_blobs.h"
#include "engine/node/node_shards.h"
#include "engine/node/reclaim_report.h"

namespace cellar::engine {

class TabletCalls {
 public:
  // `home_reaper` is shard 0's.
  TabletCalls(NodeShards& shards, const ObsoleteBlobDeleter& home_reaper, int64_t margin_us)
      : shards_(shards), home_deleter_(home_reaper), margin_us_(margin_us) {}

  // See Node for all of them.
  Async<Result<void>> flush(ShardId from, std::string name);
  Async<Result<void>> compact(ShardId from, std::string name);
  Async<Result<std::vector<TabletSize>>> sizes(ShardId from, TableId table);
  Async<Result<IndexStates>> index_states(ShardId from, std::string table);
  Async<std::vector<EngineStats>> stats(ShardId from);
  Async<Result<std::vector<TabletFigures>>> figures(ShardId from, TableId table);
  // reclaim_report.cc
  Async<Result<ReclaimReport>> reclaim_report(ShardId from, ReclaimQuestion question);

 private:
  // Called once for each shard that has tablets of the table.
  using Work = std::function<Async<Result<void>>(ShardEngine&, std::vector<TabletId>)>;

  Async<Result<void>> each_shard(ShardId from, std::string name, Work work);

  NodeShards& shards_;
  const ObsoleteBlobDeleter& home_deleter_;
  const int64_t margin_us_;
};

}  // namespace cellar::engine
