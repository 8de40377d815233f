// Reload: another configuration for a node that serves. What may change while it serves does, all
// of it or nothing; what may not is named and waits for the next start.
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
  ServerOptions options;                     // as running, with what a reload may change
  std::vector<ChangedSetting> changed;       // in force from now on
  std::vector<ChangedSetting> need_restart;  // wanted, and not in force

  bool changes(std::string_view prefix) const;  // whether a changed name begins so
};

// What `wanted` changes of `running`. Plain comparison: both are valid.
ReloadPlan plan_reload(const ServerOptions& running, const ServerOptions& wanted);

}  // namespace cellar::server
