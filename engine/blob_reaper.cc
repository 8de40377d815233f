#include "engine/blob_reaper.h"

#include "io/base/log.h"

namespace cellar::engine {

void BlobReaper::remove(BlobId id) {
  queue_.push_back(id);
  if (running_) return;
  running_ = true;
  spawn(runtime_.executor, run());
}

Async<void> BlobReaper::run() {
  while (!queue_.empty()) {
    const BlobId id = queue_.front();
    queue_.pop_front();
    auto removed = co_await store_.remove(id);
    if (!removed) {
      log_warn("tablet", "blob={:016x} stays until the next start: {}", id.value(),
               removed.error().to_string());
    }
  }
  running_ = false;
  idle_.notify_all();
}

Async<void> BlobReaper::drain() {
  while (running_) co_await idle_.wait();
}

}  // namespace cellar::engine
