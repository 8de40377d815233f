// Pacer: sends the requests of one thread's open loop when they are due.
#pragma once

#include <cstdint>
#include <vector>

#include <boost/asio/steady_timer.hpp>

#include "bench/load/connection.h"
#include "bench/load/pacing.h"
#include "io/loop/loop.h"

namespace cellar::bench {

// A hook of the loop. The loop sleeps until kSpinNs before the next request is due, on a timer of
// the kernel (those of the loop have a tick of 1 ms), and polls from then on. Requests that are due
// together leave in one write on one connection, at most `depth` of them; the next ones use the
// next connection.
class Pacer final : public LoopHook {
 public:
  static constexpr int64_t kSpinNs = 150'000;

  Pacer(Loop& loop, const LoadOptions& options, Budget& budget, ThreadTally& tally,
        Schedule schedule);
  ~Pacer() override;

  void add(Connection& connection) { connections_.push_back(&connection); }
  // Sends what is due. Called in every turn, and by connections between two answers.
  void poll();

  bool on_turn() override;
  bool may_sleep() override;

 private:
  Connection* next_connection();
  bool send_due(Connection& connection, int64_t now_ns);
  void note_lateness(int64_t due_ns, int64_t now_ns);
  void end();

  Loop& loop_;
  const LoadOptions& options_;
  Budget& budget_;
  ThreadTally& tally_;
  Schedule schedule_;
  std::vector<Connection*> connections_;
  size_t next_ = 0;
  // Requests that were due up to this time found no connection: the server has kMaxBacklog requests
  // of each, or has closed them.
  int64_t blocked_until_ns_ = 0;
  asio::steady_timer wake_;
  bool wakes_ = false;  // wake_ is armed, for no later than the next request
};

}  // namespace cellar::bench
