// SimFabric: an in-memory network on virtual time. Streams connect simulated hosts, which may run
// on different SimLoops of one world; every chunk takes the fabric's delay and arrives in order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "io/net/transport.h"
#include "io/sim/sim_loop.h"

namespace cellar {

class SimListener;
struct SimLink;

// Faults of connections made from now on.
struct LinkFaults {
  static constexpr uint64_t kNever = UINT64_MAX;
  bool refuse = false;                // connect is refused
  bool black_hole = false;            // connect is never answered
  uint64_t cut_after_bytes = kNever;  // sum of both directions; then both ends see UNAVAILABLE
  uint64_t half_open_after_bytes = kNever;  // later bytes are silently dropped
  int64_t jitter_us = 0;  // most of a random delay of each chunk, beside the fabric's
};

// How the connections of a host end.
enum class HostEnd : uint8_t {
  reset,   // its process is killed: both ends see UNAVAILABLE
  silent,  // its power fails: later bytes are dropped, until answer_stale()
};

// State shared by all networks of a world. Settings apply to connections made from then on.
class SimFabric {
 public:
  static constexpr int64_t kDefaultDelayUs = 50;
  static constexpr size_t kWindowBytes = 256 * 1024;  // in flight per direction before writers wait

  explicit SimFabric(SimWorld& world, int64_t delay_us = kDefaultDelayUs);

  void set_delay_us(int64_t delay_us) { state_->delay_us = delay_us; }  // one way
  // Splits reads at random places, as TCP may. Default: on.
  void set_short_reads(bool on) { state_->short_reads = on; }
  LinkFaults& faults() { return state_->faults; }

  // Ends every connection to the listeners of `host` and removes the listeners, which may still
  // exist: nothing that their owner sends from here on arrives.
  void end_host(std::string_view host, HostEnd how);
  // `host` answers again: what peers send over connections that ended silently breaks them.
  void answer_stale(std::string_view host);
  // Cuts or silences one open connection, which the world's generator draws. False: there is none.
  bool cut_one();
  bool silence_one();

  // Shared by everything connected, so that destruction order does not matter.
  struct State {
    SimWorld& world;
    int64_t delay_us;
    bool short_reads = true;
    LinkFaults faults = {};
    uint16_t next_port = 40'000;
    std::multimap<std::pair<std::string, uint16_t>, SimListener*> listeners = {};
    std::vector<std::weak_ptr<SimLink>> links = {};  // some are gone
  };
  const std::shared_ptr<State>& state() { return state_; }

 private:
  std::shared_ptr<SimLink> draw_open();

  std::shared_ptr<State> state_;
};

// The network seen from one loop.
class SimNetwork final : public Network {
 public:
  SimNetwork(SimFabric& fabric, Loop& loop) : fabric_(fabric.state()), loop_(loop) {}

  Async<Result<std::unique_ptr<Listener>>> listen(std::string host, uint16_t port,
                                                  bool reuse_port) override;
  Async<Result<std::unique_ptr<ByteStream>>> connect(std::string host, uint16_t port,
                                                     int64_t timeout_us) override;

 private:
  std::shared_ptr<SimFabric::State> fabric_;
  Loop& loop_;
};

}  // namespace cellar
