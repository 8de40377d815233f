#include "engine/tablet/merge_slot.h"

namespace cellar::engine {

Async<AsyncMutex::Lock> MergeSlot::lock_for_job() {
  if (pace_ != nullptr) pace_->boost();
  return lock_.lock();
}

Async<AsyncMutex::Lock> MergeSlot::lock_to_reclaim() {
  ++reclaims_waiting_;
  AsyncMutex::Lock lock = co_await lock_for_job();
  --reclaims_waiting_;
  co_return lock;
}

void MergeSlot::finish_at_once() {
  if (pace_ != nullptr) pace_->finish_at_once();
}

MergeSlot::Running::Running(MergeSlot& slot, const Tablet& tablet, MergeJob& job, Pace* pace,
                            std::vector<BlobId> inputs)
    : slot_(slot) {
  slot_.job_ = &job;
  slot_.pace_ = pace;
  slot_.tablet_ = &tablet;
  slot_.began_us_ = slot_.clock_.now_us();
  slot_.inputs_ = std::move(inputs);
  if (slot_.ended_) job.cancel();
}

MergeSlot::Running::~Running() {
  slot_.job_ = nullptr;
  slot_.tablet_ = nullptr;
  slot_.inputs_.clear();
  slot_.pace_ = nullptr;
}

void MergeSlot::cancel() {
  if (job_ != nullptr) job_->cancel();
}

void MergeSlot::end() {
  ended_ = true;
  cancel();
}

void MergeSlot::cancel(const Tablet& tablet) {
  if (tablet_ == &tablet) cancel();
}

}  // namespace cellar::engine
