// LibradosPort: the port of one shard to a real Ceph cluster.
//
// No call of librados on the loop blocks: submissions stay below its bounds (RadosPort), and what
// blocks (look-up of a pool, listing, shutdown) runs in the blocking pool. librados calls back on
// its own threads, which hand the operation to the loop by Arrivals.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "io/disk/blocking_pool.h"
#include "io/loop/loop.h"
#include "io/remote/rados/arrivals.h"
#include "io/remote/rados/module_api.h"
#include "io/remote/rados_port.h"

namespace cellar {

class LibradosPort final : public RadosPort {
 public:
  LibradosPort(const CellarClusterApi& api, CellarHandle* handle, BlockingPool& pool, Loop& loop,
               RadosShare share);
  ~LibradosPort() override;

  Async<Result<RadosPool>> open_pool(std::string pool, std::string name_space) override;
  Async<Result<std::vector<std::string>>> list(RadosPool pool, std::string prefix) override;

 protected:
  void send(RadosRequest& request) override;
  void give_up(RadosRequest& request) override;
  Async<void> release() override;

 private:
  struct Operation;

  void collect(Operation& operation);
  CellarPool* pool_of(RadosPool pool) const;

  const CellarClusterApi& api_;
  CellarHandle* const handle_;
  BlockingPool& blocking_;
  Arrivals arrivals_;
  std::vector<CellarPool*> pools_;  // by RadosPool
  size_t blocking_calls_ = 0;       // which use a pool or the handle
  ConditionVariable calls_over_;
};

}  // namespace cellar
