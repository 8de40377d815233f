// SimMachine: the machine that a TestNode runs on, for one lifetime of its process: simulated time,
// one loop and one file system per shard, all on one disk, and the stores above them.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "engine/node.h"
#include "engine/store/local/local_stores.h"
#include "io/loop/shard.h"
#include "io/sim/mem_disk.h"
#include "io/sim/sim_loop.h"

namespace cellar::support {

struct TestNodeOptions;

// Members are destroyed from the last to the first, and the world before all of them (crash()).
struct SimMachine {
  struct OneShard {
    SimLoop* loop = nullptr;
    std::unique_ptr<Shard> shard;
    std::optional<Runtime> runtime;
    std::unique_ptr<FileSystem> fs;
    std::unique_ptr<engine::StoreFactory> stores;
    std::unique_ptr<engine::LogStore> logs;
    std::unique_ptr<engine::BlobStore> blobs;
  };

  // Time is at its beginning; call add_shards() once the clock is set.
  SimMachine(uint64_t seed, uint32_t count) : world(seed), mailboxes(count), shards(count) {}

  // Adds the shards on `disk`, which outlives them.
  void add_shards(const TestNodeOptions& options, MemDisk& disk, Random& random);
  // Of all shards, for Node::open().
  std::vector<engine::ShardEnv> envs();

  SimWorld world;
  Mailboxes mailboxes;
  std::vector<OneShard> shards;
  HugeChunks* chunks = nullptr;
};

}  // namespace cellar::support
