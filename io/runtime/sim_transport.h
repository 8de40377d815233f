// SimFabric: a network in memory, on virtual time. Streams connect simulated hosts, which may live
// on different SimLoops of one world; every chunk takes the fabric's delay and arrives in order.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "io/runtime/sim_loop.h"
#include "io/runtime/transport.h"

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

// Shared by all networks of a world; outlives them and their streams.
class SimFabric {
 public:
  static constexpr int64_t kDefaultDelayUs = 50;
  static constexpr size_t kWindowBytes = 256 * 1024;  // in flight per direction, then writers wait

  explicit SimFabric(SimWorld& world, int64_t delay_us = kDefaultDelayUs)
      : world_(world), delay_us_(delay_us) {}

  SimWorld& world() { return world_; }
  int64_t delay_us() const { return delay_us_; }
  void set_delay_us(int64_t delay_us) { delay_us_ = delay_us; }
  // Splits what is read at drawn places, as TCP may. On by default.
  void set_short_reads(bool on) { short_reads_ = on; }
  bool short_reads() const { return short_reads_; }
  LinkFaults& faults() { return faults_; }

 private:
  friend class SimListener;
  friend class SimNetwork;
  SimListener* find(const std::string& host, uint16_t port);  // null when nobody listens

  SimWorld& world_;
  int64_t delay_us_;
  bool short_reads_ = true;
  LinkFaults faults_;
  uint16_t next_port_ = 40'000;
  std::multimap<std::pair<std::string, uint16_t>, SimListener*> listeners_;
};

// The network as one loop sees it.
class SimNetwork final : public Network {
 public:
  SimNetwork(SimFabric& fabric, Loop& loop) : fabric_(fabric), loop_(loop) {}

  Async<Result<std::unique_ptr<Listener>>> listen(std::string host, uint16_t port,
                                                  bool reuse_port) override;
  Async<Result<std::unique_ptr<ByteStream>>> connect(std::string host, uint16_t port,
                                                     int64_t timeout_us) override;

 private:
  SimFabric& fabric_;
  Loop& loop_;
};

}  // namespace cellar
