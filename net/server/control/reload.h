// Reload: applies another configuration to a running node. Either all reloadable changes take
// effect or none; the others are reported and wait for a restart.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace cellar::server
