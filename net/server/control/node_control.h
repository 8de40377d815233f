// NodeControl: operator commands to a running node, from any interface.
#pragma once

namespace cellar::server {

class Readiness;
class ReloadDesk;

// Both must outlive the shards; `reloads` belongs to the home shard. Null: the program does not
// provide it.
struct NodeControl {
  Readiness* readiness = nullptr;
  ReloadDesk* reloads = nullptr;
};

}  // namespace cellar::server
