#include "engine/files/blob_reaper.h"

#include <utility>

#include "io/base/log.h"

namespace cellar::engine {

void BlobReaper::remove(EndedBlob blob) {
  if (is_held(blob.id)) return held_.push_back(blob);
  queue_.push_back(blob);
  if (running_ == kAtOnce) return;
  ++running_;
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
  for (const EndedBlob& blob : std::exchange(held_, {})) remove(blob);
}

Async<void> BlobReaper::run() {
  while (!queue_.empty()) {
    const EndedBlob blob = queue_.front();
    queue_.pop_front();
    if (is_held(blob.id)) {
      held_.push_back(blob);
      continue;
    }
    auto removed = co_await store_.remove(blob.id);
    if (!removed) {
      log_warn("tablet", "blob={:016x} stays until the next start: {}", blob.id.value(),
               removed.error().to_string());
      if (kept_.size() < kMostKept) kept_.push_back({blob, removed.error()});
    }
  }
  if (--running_ == 0) idle_.notify_all();
}

Async<void> BlobReaper::drain() {
  while (running_ > 0) co_await idle_.wait();
}

}  // namespace cellar::engine
