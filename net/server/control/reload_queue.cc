#include "net/server/control/reload_queue.h"

namespace cellar::server {

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
