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

Async<Result<ReloadPlan>> ReloadQueue::reload() {
  if (!open_) co_return fail(Errc::unavailable, "the node starts or ends, and reloads nothing");
  const uint64_t wish = ++asked_;
  while (completed_ < wish) co_await told_.wait();
  co_return last_;
}

void ReloadQueue::open() { open_ = true; }

void ReloadQueue::close() {
  open_ = false;
  complete(asked_, fail(Errc::unavailable, "the node was told to stop, and reloads nothing"));
}

void ReloadQueue::complete(uint64_t wish, Result<ReloadPlan> what) {
  completed_ = wish;
  last_ = std::move(what);
  told_.notify_all();
}

std::optional<uint64_t> ReloadQueue::wanted() const {
  const uint64_t asked = asked_;
  if (completed_ == asked) return std::nullopt;
  return asked;
}

}  // namespace cellar::server
