// NodeControl: what an operator tells a node that serves, by whichever door he comes.
#pragma once

namespace cellar::server {

class Readiness;
class ReloadDesk;

// Both outlive the shards; `reloads` is the home shard's. Null: the node is part of a program that
// has no such thing.
struct NodeControl {
  Readiness* readiness = nullptr;
  ReloadDesk* reloads = nullptr;
};

}  // namespace cellar::server
