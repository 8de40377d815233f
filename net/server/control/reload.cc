#include "net/server/control/reload.h"

#include <algorithm>

#include "io/base/check.h"
#include "net/server/config/settings.h"

namespace cellar::server {

bool ReloadPlan::changes(std::string_view prefix) const {
  return std::any_of(changed.begin(), changed.end(),
                     [prefix](const ChangedSetting& one) { return one.name.starts_with(prefix); });
}

ReloadPlan plan_reload(const ServerOptions& running, const ServerOptions& wanted) {
  ReloadPlan plan;
  plan.options = running;
  for (const Setting& setting : settings()) {
    ChangedSetting one{setting.name, value_of(setting, running), value_of(setting, wanted)};
    if (one.before == one.after) continue;
    if (setting.change == Setting::Change::restart) {
      plan.need_restart.push_back(std::move(one));
      continue;
    }
    const Result<void> set = apply(setting, std::string_view(one.after), plan.options);
    CHECK(set.has_value(), "{}: its own value '{}' is refused", setting.name, one.after);
    plan.changed.push_back(std::move(one));
  }
  return plan;
}

}  // namespace cellar::server
