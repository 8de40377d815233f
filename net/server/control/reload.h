// Reload: applies another configuration to a running node. Either all reloadable changes take
// effect or none; the others are reported and wait for a restart.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/base/result.h"
#include "io/loop/async.h"
#include "io/loop/event.h"
#include "net/server/config/options.h"

namespace cellar::server {

struct ChangedSetting {
  std::string_view name;
  std::string before;
  std::string after;
};

struct ReloadPlan {
  ServerOptions options;                     // as running, with the reloadable changes
  std::vector<ChangedSetting> changed;       // now in force
  std::vector<ChangedSetting> need_restart;  // requested, but not in force

  bool changes(std::string_view prefix) const;  // any changed name has this prefix
};

// The difference between `running` and `wanted`; both must be valid.
ReloadPlan plan_reload(const ServerOptions& running, const ServerOptions& wanted);

// Queue of reload requests. Only the program's main thread can reload, because it reads files and
// stops every shard for a moment. It polls this queue between signals and posts the result on the
// home shard. Requests that arrive before it polls share one reload.
//
// Belongs to the home shard; wanted() is thread-safe.
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
