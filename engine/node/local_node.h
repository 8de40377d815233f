// LocalNode: the node of a data directory, opened. A start needs a little room on the disk, for a
// manifest and a log a shard. The last life has kept it allocated, if there was any; where there is
// none all the same the node is opened read-only, which writes nothing.
#pragma once

#include <memory>
#include <vector>

#include "engine/node.h"

namespace cellar {
class FileSystem;  // io/disk/file.h
}

namespace cellar::engine {

// Of shard 0. The node is closed (Node::close) or dies before the manifest.
struct LocalNode {
  std::unique_ptr<ManifestStore> manifest;
  std::unique_ptr<Node> node;
};

// As Node::open. `fs` is shard 0's and outlives it. Node::read_only_start() tells of which kind it
// is. A directory without a manifest is not opened read-only: it holds nothing.
Async<Result<LocalNode>> open_local_node(FileSystem& fs, EngineOptions options,
                                         std::vector<ShardEnv> shards, Mailboxes& mailboxes);

}  // namespace cellar::engine
