// NodeControl: operator commands to a running node, from any interface.
#pragma once

namespace cellar::server {

class Readiness;
class ReloadQueue;

// Both must outlive the shards; `reloads` belongs to the home shard. Null: the program does not
// provide it.
struct NodeControl {
  Readiness* readiness = nullptr;
  ReloadQueue* reloads = nullptr;
};

}  // namespace cellar::server
