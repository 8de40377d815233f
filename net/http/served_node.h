// ServedNode: the running node as the HTTP thread sees it. The program's is over server::Server
// (served_node.cc); tests have one in memory.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/loop/mailbox.h"
#include "io/loop/timers.h"
#include "net/server/server.h"

namespace cellar::http {

// Figures of a shard's loop and disk since the node's start.
struct LoopReading {
  int64_t slept_us = 0;
  uint64_t turns = 0;
  uint64_t stalls = 0;
  int64_t longest_stall_us = 0;
  int64_t oldest_io_us = 0;  // age of the oldest operation in flight; 0: none
};

// Any thread, except where a shard is named.
class ServedNode {
 public:
  virtual ~ServedNode() = default;

  virtual uint32_t shards() const = 0;
  virtual ShardExecutor executor(ShardId shard) = 0;
  // The object belongs to the shard; only there.
  virtual server::ShardServer& on(ShardId shard) = 0;
  // On the shard only.
  virtual LoopReading loop(ShardId shard) = 0;

  virtual const server::NodeFacts& facts() const = 0;
  virtual const std::string& address() const = 0;  // HOST:PORT, as bound
  // Returns at once; the node reads its configuration again, as for SIGHUP.
  virtual void ask_reload() = 0;
};

// `server` must outlive the result.
std::unique_ptr<ServedNode> served_node(server::Server& server);

}  // namespace cellar::http
