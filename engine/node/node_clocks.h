// NodeClocks: the trusted clocks of all shards, with the keeper that anchors them. On shard 0,
// except for the notification of a clock that was read.
#pragma once

#include <vector>

#include "engine/node/clock_keeper.h"
#include "engine/node/node_shards.h"
#include "engine/options.h"

namespace cellar::engine {

class NodeClocks final : private ClockKeeper::Clocks {
 public:
  NodeClocks(NodeShards& shards, ManifestStore& manifest, const EngineOptions& options);

  ClockKeeper& keeper() { return keeper_; }
  const ClockKeeper& keeper() const { return keeper_; }

 private:
  // On that shard: its clock was read for an answer.
  struct AskedClock {
    NodeClocks* clocks = nullptr;
    ShardId shard;
  };

  Async<Result<std::vector<ClockPoint>>> begin_lines() override;
  Async<Result<void>> spread(ClockAnchor anchor) override;
  Async<Result<void>> listen(bool yes) override;
  void asked(ShardId shard);

  NodeShards& shards_;
  ClockKeeper keeper_;
  std::vector<AskedClock> asked_;  // by shard
};

}  // namespace cellar::engine
