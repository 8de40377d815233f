// AgentCheck: answers a proxy's agent check with one line per connection, then closes it.
//
//   ready up 75%       accepts work; the percentage is the idle share of the last second
//   drain              finishes existing work, accepts no new work
//   down#read-only     (or clock-lags, disk-hung, broken) connections are cut
//   maint              starting
//
// The words are HAProxy's. Nothing is read and nothing else is disclosed, so the port needs no more
// protection than /healthz. One loop.
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

// The line; `busy` is the busy share of the node's processors, 0 to 1.
std::string agent_answer(NodeState state, double busy);

class AgentCheck {
 public:
  static constexpr uint32_t kMaxConnections = 64;  // concurrent; more are closed without a reply
  static constexpr int64_t kBusyWindowUs = 1'000'000;

  // All arguments must outlive stop(). `processors`: how many the node may use, its shards.
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
  ConditionVariable ended_;
  bool accepting_ = false;
  int64_t looked_us_ = 0;
  int64_t processor_us_ = 0;  // CPU time of the process at the last look
  double busy_ = 0;
};

}  // namespace cellar::server
