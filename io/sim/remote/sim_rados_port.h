// SimRadosPort: a client of SimRados on one simulated loop.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "io/remote/rados_port.h"
#include "io/sim/remote/sim_rados.h"

namespace cellar {

class SimRadosPort final : public RadosPort {
 public:
  SimRadosPort(SimRados& cluster, Loop& loop, RadosShare share);
  // What it has sent still takes place.
  ~SimRadosPort() override;

  Async<Result<RadosPool>> open_pool(std::string pool, std::string name_space) override;
  Async<Result<std::vector<std::string>>> list(RadosPool pool, std::string prefix) override;

 protected:
  void send(RadosRequest& request) override;
  void give_up(RadosRequest& request) override;
  // A listing or a look-up of a pool ends by itself, as on a thread of librados.
  Async<void> release() override;

 private:
  friend class SimRados;
  // The way of a listing or of a look-up of a pool to the cluster.
  Async<Result<void>> look(std::string what);
  void answered(uint64_t number, const SimRados::Answer& answer);

  struct OpenPool {
    uint32_t index = 0;
    std::string name_space;
  };

  SimRados& cluster_;
  Timers& timers_;
  const uint64_t client_;
  uint64_t next_number_ = 1;
  std::map<uint64_t, RadosRequest*> pending_;  // by number
  std::vector<OpenPool> pools_;
  size_t looks_ = 0;
  ConditionVariable looks_over_;
};

}  // namespace cellar
