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

 private:
  friend class SimRados;
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
};

}  // namespace cellar
