#include "engine/files/old_logs.h"

#include <utility>

#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {

void OldLogs::release(const std::vector<LogId>& logs) {
  for (LogId log : logs) {
    const auto it = names_.find(log);
    CHECK(it != names_.end(), "log {:x} was released more often than named", log.value());
    if (--it->second.tablets != 0) continue;
    const bool removable = it->second.removable;
    names_.erase(it);
    if (removable) remove(log);
  }
}

void OldLogs::remove(LogId log) {
  ++removing_;
  spawn(runtime_.executor, remove_now(log));
}

Async<void> OldLogs::remove_now(LogId log) {
  auto removed = co_await store_.remove(log);
  if (!removed) {
    if (kept_.empty()) {
      log_warn("node", "log={:x} could not be removed, tried again in {} s: {}", log.value(),
               kRetryUs / 1'000'000, removed.error().to_string());
    }
    kept_.push_back(log);
    if (!closed_ && !retry_.armed()) retry_.arm_after_us(kRetryUs);
  }
  --removing_;
  idle_.notify_all();
}

void OldLogs::try_again() {
  for (const LogId log : std::exchange(kept_, {})) remove(log);
}

Async<void> OldLogs::close() {
  closed_ = true;
  retry_.cancel();
  co_await drain();
}

Async<void> OldLogs::drain() {
  while (removing_ != 0) co_await idle_.wait();
}

}  // namespace cellar::engine
