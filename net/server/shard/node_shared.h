// NodeShared: what the shards of a node share: facts, the bounds that hold for the whole node, and
// what runs on the home shard.
#pragma once

#include <string>
#include <vector>

#include "net/server/config/options.h"
#include "net/server/limits/node_memory.h"
#include "net/server/limits/peer_limiter.h"

namespace cellar::server {

class Readiness;
class ReloadQueue;

// Operator commands to a running node, from any interface. Both must outlive the shards; `reloads`
// belongs to the home shard. Null: the program does not provide it.
struct NodeControl {
  Readiness* readiness = nullptr;
  ReloadQueue* reloads = nullptr;
};

class BackupJobs;
class BackupSchedule;
class ShardServer;

// Facts that ServerInfo reports in addition to the engine's figures. Immutable.
struct NodeFacts {
  std::string version;
  std::string io_backend;
  std::string io_reason;
  std::string directory_id;  // see engine/store/local/format_file.h
  uint64_t instance = 0;     // random at every start, never 0 in a real node
};

// Outlives the shards. Complete before the first connection is accepted.
struct NodeShared {
  NodeShared(NodeFacts known, const ServerOptions& options, uint64_t random)
      : facts(std::move(known)),
        frame_bytes(server::frame_bytes(options.engine)),
        shards(options.shards),
        memory(options.engine.memory_bytes, frame_bytes),
        addresses(random) {}

  ShardServer& shard(ShardId id) const { return *shards[id.value()]; }

  const NodeFacts facts;
  const uint32_t frame_bytes;          // of the largest frame
  std::vector<ShardServer*> shards;    // by number
  NodeControl control;                 // both null if the program provides no operator commands
  BackupJobs* backups = nullptr;       // belongs to the home shard; null: backups are disabled
  BackupSchedule* schedule = nullptr;  // beside `backups`
  alignas(64) NodeMemory memory;       // written by every shard: not beside what all read
  PeerLimiter addresses;
};

}  // namespace cellar::server
