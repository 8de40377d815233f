// OpenedNode: a node with its manifest, opened from its stores. A start needs a little space, for a
// manifest and one log per shard; on a local disk the previous run has kept it allocated if
// possible. If there is none, the node is opened read-only and writes nothing.
#pragma once

#include <memory>
#include <vector>

#include "engine/node.h"

namespace cellar::engine {

class StoreFactory;  // engine/store/store_factory.h

// Owned by shard 0. The node must be closed (Node::close) or destroyed before the manifest.
struct OpenedNode {
  std::unique_ptr<ManifestStore> manifest;
  std::unique_ptr<Node> node;
};

// See Node::open. `stores` are shard 0's and must outlive it. Node::read_only_start() tells whether
// it is read-only. A node without a manifest is not opened read-only, because it has no data.
Async<Result<OpenedNode>> open_node(StoreFactory& stores, EngineOptions options,
                                    std::vector<ShardEnv> shards, Mailboxes& mailboxes);

}  // namespace cellar::engine
