// ReloadQueue: queue of reload requests. Only the program's main thread can reload, because it
// reads files and stops every shard for a moment. It polls this queue between signals and posts the
// result on the home shard. Requests that arrive before it polls share one reload.
//
// Belongs to the home shard; wanted() is thread-safe.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "io/base/result.h"
#include "io/loop/event.h"
#include "net/server/control/reload.h"

namespace cellar::server {

class ReloadQueue {
 public:
  // ---- requesters ----
  // Returns when the reload is done. FAILED_PRECONDITION: the configuration is invalid and not
  // applied; UNAVAILABLE: the node is starting or stopping.
  Async<Result<ReloadPlan>> reload();

  // ---- main thread, through the home shard ----
  void open();   // accepts requests from now on
  void close();  // refuses requests and fails the waiting ones
  // Completes all requests up to `wish` with this result.
  void complete(uint64_t wish, Result<ReloadPlan> what);
  // The newest request without a result.
  std::optional<uint64_t> wanted() const;

 private:
  bool open_ = false;
  std::atomic<uint64_t> asked_ = 0;
  std::atomic<uint64_t> completed_ = 0;
  Result<ReloadPlan> last_;  // result of request completed_
  ConditionVariable told_;
};

}  // namespace cellar::server
