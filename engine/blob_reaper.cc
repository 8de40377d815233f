#include "engine/blob_reaper.h"

#include <utility>

#include "io/base/log.h"

namespace cellar::engine {

void BlobReaper::remove(BlobId id) {
  if (is_held(id)) return held_.push_back(id);
  queue_.push_back(id);
  if (running_) return;
  running_ = true;
  spawn(runtime_.executor, run());
}

void BlobReaper::hold(const std::optional<std::vector<BlobId>>& only) {
  holding_ = true;
  only_.reset();
  if (only) only_.emplace(only->begin(), only->end());
  remove_held();
}

void BlobReaper::release() {
  holding_ = false;
  only_.reset();
  remove_held();
}

// Those that are held no more; the others come back here.
void BlobReaper::remove_held() {
  for (const BlobId id : std::exchange(held_, {})) remove(id);
}

Async<void> BlobReaper::run() {
  while (!queue_.empty()) {
    const BlobId id = queue_.front();
    queue_.pop_front();
    if (is_held(id)) {
      held_.push_back(id);
      continue;
    }
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
