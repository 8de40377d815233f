// SimFabric: a network in memory, on virtual time. Streams connect simulated hosts, which may live
// on different SimLoops of one world; every chunk takes the fabric's delay and arrives in order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "io/net/transport.h"
#include "io/sim/sim_loop.h"

namespace cellar {

class SimListener;

// What a connection made from now on will suffer.
struct LinkFaults {
  static constexpr uint64_t kNever = UINT64_MAX;
  bool refuse = false;                // connect is refused
  bool black_hole = false;            // connect is never answered
  uint64_t cut_after_bytes = kNever;  // both directions together; then both ends see UNAVAILABLE
  uint64_t half_open_after_bytes = kNever;  // then bytes vanish without a word
};

// What all networks of a world share. Settings apply to connections made from then on.
class SimFabric {
 public:
  static constexpr int64_t kDefaultDelayUs = 50;
  static constexpr size_t kWindowBytes = 256 * 1024;  // in flight per direction, then writers wait

  explicit SimFabric(SimWorld& world, int64_t delay_us = kDefaultDelayUs);

  void set_delay_us(int64_t delay_us) { state_->delay_us = delay_us; }  // one way
  // Splits what is read at drawn places, as TCP may. On by default.
  void set_short_reads(bool on) { state_->short_reads = on; }
  LinkFaults& faults() { return state_->faults; }

  // Kept by whatever is connected, so that it does not matter what goes first.
  struct State {
    SimWorld& world;
    int64_t delay_us;
    bool short_reads = true;
    LinkFaults faults = {};
    uint16_t next_port = 40'000;
    std::multimap<std::pair<std::string, uint16_t>, SimListener*> listeners = {};
  };
  const std::shared_ptr<State>& state() { return state_; }

 private:
  std::shared_ptr<State> state_;
};

// The network as one loop sees it.
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
