// BlobSessions: gives a shard another session for blob ids when it has used half of its own
// (SessionBlobIds). On shard 0, except for ask().
#pragma once

#include "engine/node/node_catalog.h"
#include "engine/node/node_shards.h"
#include "io/loop/gate.h"

namespace cellar::engine {

class BlobSessions {
 public:
  BlobSessions(NodeShards& shards, NodeCatalog& catalog) : shards_(shards), catalog_(catalog) {}

  // On that shard: answered there by SessionBlobIds::renew() or not_drawn(), later.
  void ask(ShardId shard);
  // Resumes when no assignment is in progress; none follows.
  Async<void> close() { return gate_.close(); }

 private:
  Async<void> give(ShardId shard);
  Async<Result<SessionEpoch>> draw();

  NodeShards& shards_;
  NodeCatalog& catalog_;
  Gate gate_{"the node"};
};

}  // namespace cellar::engine
