// AgentCheck: answers a proxy's agent check: one line for each connection, then it is closed.
//
//   ready up 75%       takes work; the share by how busy the node was over the last second
//   drain              finishes what it has, takes nothing new
//   down#read-only     (or disk-hung, broken) cuts
//   maint              starting
//
// These are HAProxy's words. Nothing is read, nothing is said about the node but this, so the port
// needs no more protection than /healthz. One loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "io/base/clock.h"
#include "io/loop/event.h"
#include "io/loop/timers.h"
#include "io/net/transport.h"
#include "net/server/control/readiness.h"

namespace cellar::server {

// What the check says; `busy` is a share of the node's processors, 0 to 1.
std::string agent_answer(NodeState state, double busy);

class AgentCheck {
 public:
  static constexpr uint32_t kMaxConnections = 64;  // at one time; more are closed unanswered
  static constexpr int64_t kWriteTimeoutUs = 1'000'000;
  static constexpr int64_t kBusyWindowUs = 1'000'000;

  // All outlive stop(). `processors`: how many this node may keep busy, its shards.
  AgentCheck(ShardExecutor executor, Timers& timers, std::unique_ptr<Listener> listener,
             const Readiness& readiness, uint32_t processors);

  void start();
  Async<void> stop();

 private:
  Async<void> accept_loop();
  Async<void> answer(std::unique_ptr<ByteStream> stream);
  double busy();

  ShardExecutor executor_;
  Timers& timers_;
  std::unique_ptr<Listener> listener_;
  const Readiness& readiness_;
  const uint32_t processors_;
  bool stopping_ = false;
  uint32_t open_ = 0;
  Notify ended_;
  bool accepting_ = false;
  int64_t looked_us_ = 0;
  int64_t processor_us_ = 0;  // used by the process, when it was looked
  double busy_ = 0;
};

}  // namespace cellar::server
