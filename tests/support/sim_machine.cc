#include "tests/support/sim_machine.h"

#include "io/sim/mem_fs.h"
#include "tests/support/test_node.h"

namespace cellar::support {

void SimMachine::add_shards(const TestNodeOptions& options, MemDisk& disk, Random& random) {
  chunks = options.chunks;
  for (uint32_t i = 0; i < shards.size(); ++i) {
    OneShard& one = shards[i];
    one.loop = &world.add_loop();
    mailboxes.attach(ShardId{i}, *one.loop);
    one.shard = std::make_unique<Shard>(ShardId{i}, *one.loop, mailboxes.of(ShardId{i}),
                                        world.clock(), random.next());
    one.runtime.emplace(one.shard->runtime());
    one.fs = std::make_unique<MemFs>(
        one.loop->executor(), disk,
        MemFsOptions{.random = options.shuffle_io ? &one.shard->random() : nullptr,
                     .timers = &one.loop->timers(),
                     .min_latency_us = options.min_latency_us,
                     .max_latency_us = options.max_latency_us});
    if (options.wrap) one.fs = options.wrap(std::move(one.fs), disk, *one.loop);
    engine::LogOptions log = options.log;
    log.logs = static_cast<uint32_t>(shards.size());
    one.stores = engine::make_local_stores(*one.fs, *one.runtime, log);
    one.logs = one.stores->make_logs();
    one.blobs = one.stores->make_blobs();
    if (options.wrap_blobs) {
      one.blobs = options.wrap_blobs(std::move(one.blobs), one.loop->executor());
    }
  }
}

std::vector<engine::ShardEnv> SimMachine::envs() {
  std::vector<engine::ShardEnv> envs;
  for (OneShard& one : shards) envs.push_back({*one.runtime, *one.logs, *one.blobs, chunks});
  return envs;
}

}  // namespace cellar::support
