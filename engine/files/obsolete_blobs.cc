#include "engine/files/obsolete_blobs.h"

#include <utility>

#include "io/base/check.h"
#include "io/base/log.h"

namespace cellar::engine {

void ObsoleteBlobDeleter::remove(ObsoleteBlob blob) {
  if (is_held(blob.id)) return held_.push_back(blob);
  queue_.push_back(blob);
  if (running_ == kAtOnce) return;
  ++running_;
  spawn(runtime_.executor, run());
}

void ObsoleteBlobDeleter::hold(const std::optional<std::vector<BlobId>>& only) {
  holding_ = true;
  only_.reset();
  if (only) only_.emplace(only->begin(), only->end());
  remove_held();
}

void ObsoleteBlobDeleter::release() {
  holding_ = false;
  only_.reset();
  remove_held();
}

// Removes the blobs that are no longer held; remove() puts the others back.
void ObsoleteBlobDeleter::remove_held() {
  for (const ObsoleteBlob& blob : std::exchange(held_, {})) remove(blob);
}

Async<void> ObsoleteBlobDeleter::run() {
  while (!queue_.empty()) {
    const ObsoleteBlob blob = queue_.front();
    queue_.pop_front();
    if (is_held(blob.id)) {
      held_.push_back(blob);
      continue;
    }
    auto removed = co_await store_.remove(blob.id);
    if (!removed) {
      if (kept_.empty()) {  // once for each round
        log_warn("tablet", "blob={:016x} could not be removed, tried again in {} s: {}",
                 blob.id.value(), kRetryUs / 1'000'000, removed.error().to_string());
      }
      if (kept_.size() < kMostKept) kept_.push_back({blob, removed.error()});
      if (!ends_ && !retry_.armed()) retry_.arm_after_us(kRetryUs);
    }
  }
  if (--running_ == 0) idle_.notify_all();
}

void ObsoleteBlobDeleter::try_again() {
  for (const KeptBlob& kept : std::exchange(kept_, {})) remove(kept.blob);
}

Async<void> ObsoleteBlobDeleter::drain() {
  ends_ = true;
  retry_.cancel();
  while (running_ > 0) co_await idle_.wait();
}

void BlobRefCounts::add(BlobId blob, uint64_t holders, bool shared) {
  const auto [it, added] = blobs_.try_emplace(blob, Counted{.holders = 1});
  it->second.holders += holders;
  it->second.shared |= shared;
}

void BlobRefCounts::release(const ObsoleteBlob& blob) {
  const auto it = blobs_.find(blob.id);
  CHECK(it != blobs_.end(), "blob {:016x} was released more often than held", blob.id.value());
  if (--it->second.holders != 0) return;
  const bool others_may_name_it = it->second.shared && !has_all_tablets_;
  blobs_.erase(it);
  if (!others_may_name_it) deleter_.remove(blob);
}

uint64_t BlobRefCounts::holders(BlobId blob) const {
  const auto it = blobs_.find(blob);
  return it == blobs_.end() ? 0 : it->second.holders;
}

}  // namespace cellar::engine
