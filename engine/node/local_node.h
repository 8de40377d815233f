// LocalNode: an opened data directory with its node. A start needs a little disk space, for a
// manifest and one log per shard; the previous run has kept it allocated if possible. If there is
// none, the node is opened read-only and writes nothing.
#pragma once

#include <memory>
#include <vector>

#include "engine/node.h"

namespace cellar {
class FileSystem;  // io/disk/file.h
}

namespace cellar::engine {

// Owned by shard 0. The node must be closed (Node::close) or destroyed before the manifest.
struct LocalNode {
  std::unique_ptr<ManifestStore> manifest;
  std::unique_ptr<Node> node;
};

// See Node::open. `fs` is shard 0's and must outlive it. Node::read_only_start() tells whether it
// is read-only. A directory without a manifest is not opened read-only, because it has no data.
Async<Result<LocalNode>> open_local_node(FileSystem& fs, EngineOptions options,
                                         std::vector<ShardEnv> shards, Mailboxes& mailboxes);

}  // namespace cellar::engine
