#include "engine/files/old_logs.h"

#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {

void OldLogs::release(const std::vector<LogId>& logs) {
  for (LogId log : logs) {
    const auto it = names_.find(log);
    CHECK(it != names_.end(), "log {:x} was released more often than named", log.value());
    if (--it->second != 0) continue;
    names_.erase(it);
    remove(log);
  }
}

void OldLogs::remove(LogId log) {
  ++removing_;
  spawn(runtime_.executor, remove_now(log));
}

Async<void> OldLogs::remove_now(LogId log) {
  auto removed = co_await store_.remove(log);
  if (!removed) {
    log_warn("node", "log={:x} stays until the next start: {}", log.value(),
             removed.error().to_string());
  }
  --removing_;
  idle_.notify_all();
}

Async<void> OldLogs::drain() {
  while (removing_ != 0) co_await idle_.wait();
}

}  // namespace cellar::engine
