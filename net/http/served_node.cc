#include "net/http/served_node.h"

#include <unistd.h>

#include <csignal>

namespace cellar::http {
namespace {

class RunningServer final : public ServedNode {
 public:
  explicit RunningServer(server::Server& server) : server_(server) {}

  uint32_t shards() const override { return server_.shards(); }
  ShardExecutor executor(ShardId shard) override { return server_.executor(shard); }
  server::ShardServer& on(ShardId shard) override { return server_.on(shard); }
  LoopReading loop(ShardId shard) override {
    const ShardLoop& loop = server_.loop(shard);
    const StallWatch& stalls = server_.stalls(shard);
    return {.slept_us = loop.slept_us(),
            .turns = loop.turns(),
            .stalls = stalls.stalls(),
            .longest_stall_us = stalls.longest_us(),
            .oldest_io_us = server_.io(shard).oldest_us()};
  }
  const server::NodeFacts& facts() const override { return server_.facts(); }
  const std::string& address() const override { return server_.address(); }
  // The main thread reads the configuration and logs the result.
  void ask_reload() override { kill(getpid(), SIGHUP); }

 private:
  server::Server& server_;
};

}  // namespace

std::unique_ptr<ServedNode> served_node(server::Server& server) {
  return std::make_unique<RunningServer>(server);
}

}  // namespace cellar::http
